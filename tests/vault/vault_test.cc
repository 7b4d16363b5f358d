#include "vault/vault.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace vortex::vault {
namespace {

KeyPtr new_key() { return std::make_shared<const MasterKey>(MasterKey::make()); }

constexpr Place kPlace{"secret", "db/password", 3};

std::string opened(const Vault& vault, const Sealed& sealed, const Place& place = kPlace) {
  const auto value = vault.open(place, sealed);
  return value ? std::string(value->view()) : "fault " + std::to_string(int(value.error()));
}

std::string fault(Fault why) { return "fault " + std::to_string(int(why)); }

TEST(Vault, V16_OpensWhatItSealed) {
  const Vault vault(new_key());
  for (const std::string& value : {std::string("hunter2"), std::string(), std::string("\0\xff", 2),
                                   std::string(64 * 1024, 'x')}) {
    const auto sealed = vault.seal(kPlace, value);
    ASSERT_TRUE(sealed);
    EXPECT_EQ(opened(vault, *sealed), value);
  }
}

TEST(Vault, V16_NothingSealedShowsTheValueAndNoTwoAreEqual) {
  const Vault vault(new_key());
  const auto a = vault.seal(kPlace, "correct horse");
  const auto b = vault.seal(kPlace, "correct horse");
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->value, b->value);
  EXPECT_NE(a->wrapped_key, b->wrapped_key);
  EXPECT_FALSE(a->value.contains("horse"));
}

TEST(Vault, V16_ASealedValueOpensOnlyInItsOwnPlace) {
  const Vault vault(new_key());
  const auto sealed = vault.seal(kPlace, "value");
  ASSERT_TRUE(sealed);
  EXPECT_EQ(opened(vault, *sealed, {"secret", "db/password", 4}), fault(Fault::kDamaged));
  EXPECT_EQ(opened(vault, *sealed, {"secret", "db/other", 3}), fault(Fault::kDamaged));
  EXPECT_EQ(opened(vault, *sealed, {"webhook", "db/password", 3}), fault(Fault::kDamaged));
}

TEST(Vault, V16_EveryChangedByteIsNoticed) {
  const Vault vault(new_key());
  const auto sealed = vault.seal(kPlace, "value");
  ASSERT_TRUE(sealed);
  for (std::string Sealed::* part : {&Sealed::wrapped_key, &Sealed::value}) {
    for (std::size_t i = 0; i < (*sealed.*part).size() - 4; ++i) {
      Sealed changed = *sealed;
      char& c = (changed.*part)[i];
      c = c == 'A' ? 'B' : 'A';
      EXPECT_EQ(opened(vault, changed), fault(Fault::kDamaged)) << i;
    }
    Sealed cut = *sealed;
    (cut.*part).resize(20);
    EXPECT_EQ(opened(vault, cut), fault(Fault::kDamaged));
  }
}

TEST(Vault, V16_AnotherKeyOpensNothing) {
  const Vault vault(new_key());
  const auto sealed = vault.seal(kPlace, "value");
  ASSERT_TRUE(sealed);
  const Vault other(new_key());
  EXPECT_EQ(opened(other, *sealed), fault(Fault::kOtherKey));
  Sealed forged = *sealed;
  forged.key_id = other.key_id();
  EXPECT_EQ(opened(other, forged), fault(Fault::kDamaged));
  EXPECT_EQ(opened(Vault(), *sealed), fault(Fault::kNoKey));
  EXPECT_EQ(Vault().seal(kPlace, "x").error(), Fault::kNoKey);
}

TEST(Vault, V16_ANewMasterKeyOpensWhatWasWrappedAgain) {
  const KeyPtr old_key = new_key();
  const KeyPtr fresh = new_key();
  Vault vault(old_key);
  const auto before = vault.seal(kPlace, "value");
  ASSERT_TRUE(before);
  vault.use(fresh, old_key);
  EXPECT_EQ(opened(vault, *before), "value");  // while both are there
  const auto after = vault.rewrap(kPlace, *before);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->value, before->value);
  EXPECT_EQ(after->key_id, fresh->id());
  EXPECT_EQ(opened(Vault(fresh), *after), "value");
  EXPECT_EQ(opened(Vault(old_key), *after), fault(Fault::kOtherKey));
}

TEST(Vault, V16_KeysAreReadBackFromTheirText) {
  const MasterKey key = MasterKey::make();
  const std::string text(key.text().view());
  EXPECT_TRUE(text.starts_with("vxkey_"));
  const auto back = MasterKey::parse(" " + text + "\n");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->id(), key.id());
  EXPECT_EQ(back->bytes(), key.bytes());
  EXPECT_FALSE(MasterKey::parse(text.substr(0, text.size() - 1)));
  EXPECT_FALSE(MasterKey::parse(text + "A"));
  EXPECT_FALSE(MasterKey::parse("hunter2"));
  EXPECT_FALSE(MasterKey::parse(""));
  EXPECT_NE(MasterKey::make().id(), key.id());
}

TEST(Vault, V16_APlainTextIsItsOwnValueUntilItIsSealed) {
  const Vault vault(new_key());
  const Place place{"webhook", "ci", 0};
  EXPECT_EQ(vault.open_text(place, "whsec_x")->view(), "whsec_x");
  const auto sealed = vault.rewrap_text(place, "whsec_x");
  ASSERT_TRUE(sealed);
  EXPECT_TRUE(Vault::is_sealed(*sealed));
  EXPECT_FALSE(sealed->contains("whsec_x"));
  EXPECT_EQ(Vault::key_id_of(*sealed), vault.key_id());
  EXPECT_EQ(vault.open_text(place, *sealed)->view(), "whsec_x");
  EXPECT_EQ(vault.open_text(place, "vxs1:").error(), Fault::kOtherKey);
}

}  // namespace
}  // namespace vortex::vault
