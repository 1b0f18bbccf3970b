/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a library with GoogleTest; they fail on phones that lack what the library needs. */
#include <android/NeuralNetworks.h>

#include "nnapi_phone.h"

TEST(Phone, ModelsCanBeMade) {
  ANeuralNetworksModel* model = nullptr;
  ASSERT_EQ(ANeuralNetworksModel_create(&model), ANEURALNETWORKS_NO_ERROR);
  ANeuralNetworksModel_free(model);
}

TEST(Phone, HasAnAccelerator) {
  uint32_t count = 0;
  ASSERT_EQ(ANeuralNetworks_getDeviceCount(&count), ANEURALNETWORKS_NO_ERROR);
  EXPECT_GT(count, 1u);
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new NnapiPhone);
  return RUN_ALL_TESTS();
}
