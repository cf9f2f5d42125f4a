// Names that no viewer of `.prof` files chokes on.
//
// Viewers put the names of functions raw into SVG, dot files and <script> elements of HTML, and write them as UTF-8. A
// safe name is UTF-8 without control bytes and without what ends or confuses a <script>. Everything else stays: `<`,
// quotes, backslashes, emoji.
//
//   in the name                              in the safe name
//   bytes 0x00 to 0x1f, 0x7f                 \x00 … \x1f, \x7f            (as text: a backslash, an x, two digits)
//   a lone surrogate, U+FFFE, U+FFFF         \udc80, \ufffe
//   bytes that are not UTF-8                 \xNN each
//   </script (any case), <!--                <\/script, <\!--
//
// Two names may become one: SafeKeys tells functions apart again.
#ifndef TRACEKILN_FORMATS_PSTATS_SAFE_NAME_H_
#define TRACEKILN_FORMATS_PSTATS_SAFE_NAME_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/intermediate/profile.h"
#include "formats/intermediate/string_pool.h"

namespace tracekiln::pstats {

// Whether SafeName(name) == name. O(bytes).
bool IsSafeName(absl::string_view name);

// SafeName(SafeName(name)) == SafeName(name).
std::string SafeName(absl::string_view name);

// The texts of all functions of a profile, made safe, so that different functions still have different keys: of several
// that would be equal all but one have " (2)", " (3)", … behind their names. Functions whose texts need no change keep
// them. Costs a pass over the texts; memory only if one of them is not safe. The profile must outlive it, unchanged.
class SafeKeys {
 public:
  enum class Texts {
    kSafe,  // for viewers
    kRaw,  // as they are; only bytes that are not even UTF-8 with surrogates are changed, since marshal can't hold them
  };
  explicit SafeKeys(const Profile& profile, Texts texts = Texts::kSafe);

  // The pool of texts, and the file and name of a function in it. Equal texts have equal ids.
  const StringPool& strings() const { return is_changed_ ? strings_ : profile_.strings; }
  StringId file(FunctionId function) const {
    return is_changed_ ? keys_[Index(function)].file : profile_.function(function).file;
  }
  StringId name(FunctionId function) const {
    return is_changed_ ? keys_[Index(function)].name : profile_.function(function).name;
  }
  // Functions whose file or name differs from the profile's.
  uint64_t changed_function_count() const { return changed_function_count_; }

 private:
  struct Key {
    StringId file;
    StringId name;
  };
  void MakeKeys(Texts texts);

  const Profile& profile_;
  bool is_changed_ = false;
  StringPool strings_;
  std::vector<Key> keys_;
  uint64_t changed_function_count_ = 0;
};

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_SAFE_NAME_H_
