// The names of `.prof` files of which each holds one profiled action, as Lightning's AdvancedProfiler names them.
//
//   ActionFileNamer namer("fit", "run", /*rank=*/0);
//   namer.NameFor("[Strategy]DDPStrategy.backward")          // fit-run-0-[Strategy]DDPStrategy.backward.prof
//   namer.NameFor("[Callback]C{'monitor': 'val'}.setup")     // fit-run-0-[Callback]C{'monitor'_ 'val'}.setup.prof
//   namer.NameFor("a/b")                                     // fit-run-0-a_b~0b006aecf2a5.prof
//   namer.IndexName()                                        // fit-run-0-actions.json
//
//   ParseActionFileName("fit-run-0-[Strategy]DDPStrategy.backward.prof")  // {"fit", "run", 0, "[Strategy]DDP…", …}
//
// Names. `{stage}-{filename}-{rank}-{action}.prof` without the parts that are empty. Lightning numbers ranks per node;
// give the global rank, so that nodes on a shared directory don't overwrite each other's files. Of an action Lightning
// (2.6.1) replaces each of \ / : * ? " < > | CR LF TAB by "_", makes one "_" of several, strips blanks at both ends and
// calls what is empty "profile". That is done here too. What Lightning doesn't do:
// - "_" also stands for other control characters, DEL, bytes that are not UTF-8, line separators and directional marks,
//   two or more dots, a dot at the end, and a dot or a hyphen at the very beginning of the file name.
// - A file name that Windows reserves (NUL.prof) gets "_" in front.
// - A file name has at most 255 bytes; it is cut between characters.
// - Different actions have different names: an action has Lightning's own name if no other action has. The others get
//   "~" and 12 hexadecimal digits, a hash of the action, behind it. So `a/b`, `a:b`, `a__b` and `a_b` are four names,
//   of which only the last is Lightning's. `'_ ` behind a brace is the exception: it stands for `': `, since
//   Lightning's callbacks have such names and its files should be found under the same name.
// - So also on file systems that fold case or normalise Unicode. Actions with characters that may be folded (all
//   but ASCII and CJK ideographs) get the hash. ASCII letters of either case stay as they are; if two actions differ in
//   nothing else, the one that is asked for second gets the hash. Only in this case does a name depend on other
//   actions.
// Stage and filename are made safe in the same way (80 bytes each at most); if that changes them, all names get the
// hash. Not handled: file systems with shorter names (eCryptfs: 143 bytes) and paths that are too long as a whole.
#ifndef TRACEKILN_FORMATS_PSTATS_ACTION_FILE_NAME_H_
#define TRACEKILN_FORMATS_PSTATS_ACTION_FILE_NAME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tracekiln::pstats {

constexpr size_t kMaxFileNameBytes = 255;

// Not thread-safe. Memory: all actions and their names.
class ActionFileNamer {
 public:
  // Any bytes. `rank`: global, of the process.
  ActionFileNamer(absl::string_view stage, absl::string_view filename, std::optional<int64_t> rank);

  // Valid UTF-8, without separators; the same for the same action. Any bytes.
  std::string NameFor(absl::string_view action);

  // Of the file that ActionIndexJson is for; differs from all of NameFor.
  std::string IndexName() const;

 private:
  std::string Name(absl::string_view action, bool has_hash, uint64_t attempt) const;

  std::string prefix_;  // safe; ends with a hyphen if it is not empty
  std::string salt_;    // the original stage and filename if the safe ones differ, else empty
  absl::flat_hash_map<std::string, std::string> names_;  // by action
  absl::flat_hash_set<std::string> taken_;               // names in lower case
};

struct ActionFileName {
  std::string stage;  // or empty
  std::string filename;
  std::optional<int64_t> rank;
  // As well as it can be told: `'_ ` is read as `': `, but what else "_" stands for only the index knows.
  std::string action;
  // The 12 digits, without "~"; then the action is not what it was. Empty if there are none.
  std::string hash;
};

// The parts of the name of a `.prof` file; nullopt if it doesn't end in ".prof" or has nothing in front.
// `path` is relative to the directory of the profiles, with slashes: Lightning before 2.6.1 took a slash in an action
// for a directory. Directories belong to the name from the first on that leaves a bracket or brace open, or that has a
// stage and a rank or a bracket; others are only places. Cost: O(bytes).
//
// Hyphens join the parts but may be in each, so this is a guess where it is not "STAGE-FILENAME-RANK-[…":
// - A stage is fit, validate, test, predict, tune or sanity_check.
// - `filename`, if given, is what the filename is known to be; it is taken if it stands there.
// - Else the action begins at the first bracket that begins a part. Digits (without leading zeros) before it are the
//   rank, the rest is the filename.
// - Else, with a stage, at the first digits that are a part (of several in a row, the last are the rank), or else at
// the
//   second part if there is one: `fit-run-a` is the action `a`, and `fit-my-action` is taken for `action`.
// - Else all is the action.
std::optional<ActionFileName> ParseActionFileName(absl::string_view path, absl::string_view filename = {});

// The names of a whole directory: the filename of the most names with a bracket is taken for that of the others.
// result.size() == paths.size().
std::vector<std::optional<ActionFileName>> ParseActionFileNames(absl::Span<const std::string> paths);

struct ActionIndexEntry {
  std::string action;  // any bytes
  std::string file;    // of NameFor
  int64_t call_count = 0;
  int64_t duration_ns = 0;
};

// {"actions":[{"action":"…","file":"…","calls":1,"duration_ns":5}, …]}, a line for each action, in the order given.
// Valid UTF-8: bytes of actions that are not become U+FFFD.
std::string ActionIndexJson(absl::Span<const ActionIndexEntry> entries);

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_ACTION_FILE_NAME_H_
