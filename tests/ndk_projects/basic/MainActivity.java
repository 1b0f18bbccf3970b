// SPDX-License-Identifier: Apache-2.0
package com.example.android.basic;

/** The activity without Android: arguments are the library and the name of the asset. */
public class MainActivity {
  native long initModel(Object assetManager, String assetName);

  native float startCompute(long model, float value1, float value2);

  native String describe();

  native void destroyModel(long model);

  public static void main(String[] arguments) {
    System.load(arguments[0]);
    MainActivity activity = new MainActivity();
    long model = activity.initModel(null, arguments[1]);
    if (model == 0) System.exit(1);
    System.out.println(activity.describe());
    System.out.println(activity.startCompute(model, 1, 2));
    activity.destroyModel(model);
    // Java has no asset manager here; anything else is none.
    if (activity.initModel(activity, arguments[1]) != 0) System.exit(1);
  }
}
