/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listener of GoogleTest: failures name the phone and the faults with which the program runs
 * (nnapi-shim exec --profile NAME --faults RULES -- ./tests), and the XML report has them as
 * properties.
 *
 *     int main(int argc, char** argv) {
 *       testing::InitGoogleTest(&argc, argv);
 *       testing::UnitTest::GetInstance()->listeners().Append(new NnapiPhone);
 *       return RUN_ALL_TESTS();
 *     }
 */
#ifndef NNAPI_PHONE_H
#define NNAPI_PHONE_H

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

class NnapiPhone : public testing::EmptyTestEventListener {
  static const char* value(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? "" : text;
  }

  void OnTestProgramStart(const testing::UnitTest&) override {
    testing::Test::RecordProperty("nnapi_profile", value("NNAPI_SHIM_PROFILE"));
    testing::Test::RecordProperty("nnapi_faults", value("NNAPI_SHIM_FAULTS"));
  }

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const char* profile = value("NNAPI_SHIM_PROFILE");
    const char* faults = value("NNAPI_SHIM_FAULTS");
    std::printf("on the phone: %s%s%s\n", *profile ? profile : "none", *faults ? ", with faults: " : "",
                faults);
  }
};

#endif
