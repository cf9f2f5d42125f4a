#include "formats/pstats/action_file_name.h"

#include <algorithm>
#include <array>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "formats/json/writer.h"
#include "formats/pstats/generalized_utf8.h"

// An action keeps Lightning's name if it is the one that LikelyAction makes of that name. As LikelyAction is a
// function, there is one such action for each name: the names without hash are all different, and so they are without
// knowing the other actions. Names with hash can't be among them, as an action that ends like one gets a hash itself.
namespace tracekiln::pstats {
namespace {

constexpr absl::string_view kExtension = ".prof";
constexpr size_t kHashBytes = 13;  // "~" and the digits
constexpr size_t kMaxPartBytes = 80;

constexpr std::array<absl::string_view, 6> kStages = {"fit", "validate", "test", "predict", "tune", "sanity_check"};

// FNV-1a with a finish that lets all bits depend on all; part of the format of names, so never to be changed.
uint64_t Hash(absl::string_view bytes, uint64_t h) {
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}
uint64_t Hash(absl::string_view salt, absl::string_view action, uint64_t attempt) {
  uint64_t h = Hash(action, 0xcbf29ce484222325u);
  if (!salt.empty()) h = Hash(salt, Hash(absl::string_view("\0", 1), h));
  h += attempt;
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
  return h ^ (h >> 33);
}
std::string HashText(uint64_t hash) {
  return absl::StrCat("~", absl::Hex(hash & 0xffffffffu, absl::kZeroPad8), absl::Hex(hash >> 48, absl::kZeroPad4));
}

// Whether `text` ends as names with a hash do, in any case.
bool EndsWithHash(absl::string_view text) {
  if (text.size() < kHashBytes || text[text.size() - kHashBytes] != '~') return false;
  const absl::string_view digits = text.substr(text.size() - kHashBytes + 1);
  return std::all_of(digits.begin(), digits.end(), [](char c) { return absl::ascii_isxdigit(c); });
}

// Characters other than ASCII that nothing can be seen of, or that change what is seen of others.
bool IsInvisible(uint32_t code) {
  return (code >= 0x80 && code < 0xa0) || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code & 0xfffe) == 0xfffe;
}

// Whether no file system takes the character for another: it has no case, no decomposition, and isn't part of one.
bool IsFoldedNowhere(uint32_t code) { return code < 0x80 || (code >= 0x4e00 && code <= 0x9fff); }

// The longest prefix of at most `max_bytes` bytes that ends between characters. REQUIRES: valid UTF-8.
absl::string_view Cut(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xc0) == 0x80) --max_bytes;
  return text.substr(0, max_bytes);
}

struct Safe {
  std::string text;
  bool is_folded_somewhere = false;
};

// Lightning's replacements, and ours inside of a name.
Safe MakeSafe(absl::string_view bytes) {
  Safe safe;
  std::string& out = safe.text;
  const auto underscore = [&out] {
    if (out.empty() || out.back() != '_') out.push_back('_');
  };
  const char* const end = bytes.data() + bytes.size();
  for (const char* p = bytes.data(); p < end;) {
    const int length = SequenceLength(p, end);
    if (length < 0) {
      underscore();
      p -= length;
      continue;
    }
    if (length == 1) {
      const char c = *p++;
      const bool is_replaced = static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '_' ||
                               absl::string_view("\\/:*?\"<>|").find(c) != absl::string_view::npos;
      if (is_replaced) {
        underscore();
      } else if (c == '.' && p < end && *p == '.') {
        while (p < end && *p == '.') ++p;
        underscore();
      } else {
        out.push_back(c);
      }
      continue;
    }
    const uint32_t code = CodePoint(p, length);
    if ((length == 3 && IsSurrogate(p)) || IsInvisible(code)) {
      underscore();
    } else {
      if (!IsFoldedNowhere(code)) safe.is_folded_somewhere = true;
      out.append(p, length);
    }
    p += length;
  }
  absl::StripAsciiWhitespace(&out);
  if (!out.empty() && out.back() == '.') {
    out.pop_back();
    underscore();
  }
  return safe;
}

// What Lightning most likely replaced: colons in the text of a Python dict.
std::string LikelyAction(absl::string_view name) {
  std::string action(name);
  size_t at = action.find('{');
  while (at != std::string::npos && (at = action.find("'_ ", at)) != std::string::npos) action[at + 1] = ':';
  return action;
}

// A name by which Windows opens a device, whatever the extension.
bool IsReserved(absl::string_view file_name) {
  absl::string_view stem = file_name.substr(0, file_name.find('.'));
  stem = absl::StripTrailingAsciiWhitespace(stem);
  const std::string lower = absl::AsciiStrToLower(stem);
  for (const absl::string_view device : {"con", "prn", "aux", "nul", "conin$", "conout$"}) {
    if (lower == device) return true;
  }
  if (!absl::StartsWith(lower, "com") && !absl::StartsWith(lower, "lpt")) return false;
  const absl::string_view number = absl::string_view(lower).substr(3);
  return (number.size() == 1 && absl::ascii_isdigit(number[0])) || number == "\xc2\xb9" || number == "\xc2\xb2" ||
         number == "\xc2\xb3";
}

// True if something is changed. REQUIRES: !file_name->empty().
bool MakeBeginningSafe(std::string* file_name) {
  const char first = file_name->front();
  const bool is_hidden_or_option = first == '.' || first == '-';
  if (is_hidden_or_option) file_name->replace(0, file_name->size() > 1 && (*file_name)[1] == '_' ? 2 : 1, "_");
  if (!IsReserved(*file_name)) return is_hidden_or_option;
  file_name->insert(0, "_");
  return true;
}

bool IsStage(absl::string_view text) { return std::find(kStages.begin(), kStages.end(), text) != kStages.end(); }

std::optional<int64_t> ParseRank(absl::string_view text) {
  int64_t rank;
  if (text.empty() || text.size() > 9 || (text[0] == '0' && text.size() > 1)) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); })) return std::nullopt;
  if (!absl::SimpleAtoi(text, &rank)) return std::nullopt;
  return rank;
}

// Takes `text` and a hyphen off the front.
bool ConsumePart(absl::string_view* rest, absl::string_view text) {
  if (text.empty() || rest->size() <= text.size() + 1) return false;
  if (rest->substr(0, text.size()) != text || (*rest)[text.size()] != '-') return false;
  rest->remove_prefix(text.size() + 1);
  return true;
}

absl::string_view FirstPart(absl::string_view rest) { return rest.substr(0, rest.find('-')); }

size_t FindBracket(absl::string_view rest) {
  if (absl::StartsWith(rest, "[")) return 0;
  const size_t at = rest.find("-[");
  return at == absl::string_view::npos ? at : at + 1;
}

// Sets the rank and takes it off the front.
void ConsumeRank(absl::string_view* rest, ActionFileName* name) {
  const absl::string_view first = FirstPart(*rest);
  const std::optional<int64_t> rank = ParseRank(first);
  if (rank.has_value() && ConsumePart(rest, first)) name->rank = rank;
}

// The end of the first row of parts that are digits; npos if there is none or nothing follows. *last is the last of
// them.
size_t FindBehindDigits(absl::string_view rest, absl::string_view* last) {
  size_t behind = absl::string_view::npos;
  for (size_t at = 0; at < rest.size();) {
    const absl::string_view part = FirstPart(rest.substr(at));
    const size_t next = at + part.size() + 1;
    const bool is_digits =
        !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return absl::ascii_isdigit(c); });
    if (is_digits && next < rest.size()) {
      behind = next;
      *last = part;
    } else if (behind != absl::string_view::npos) {
      break;
    }
    at = next;
  }
  return behind;
}

// Whether a directory is the beginning of a name that was cut at a slash.
bool BeginsName(absl::string_view directory) {
  const auto is_open = [&](char open, char close) {
    return std::count(directory.begin(), directory.end(), open) > std::count(directory.begin(), directory.end(), close);
  };
  if (is_open('{', '}') || is_open('[', ']')) return true;
  absl::string_view rest = directory;
  if (!IsStage(FirstPart(rest)) || !ConsumePart(&rest, FirstPart(rest))) return false;
  absl::string_view last;
  return FindBracket(rest) != absl::string_view::npos ||
         (FindBehindDigits(rest, &last) != absl::string_view::npos && ParseRank(last).has_value());
}

// The part of a path that is a name.
absl::string_view NameInPath(absl::string_view path) {
  for (size_t begin = 0;;) {
    const size_t slash = path.find('/', begin);
    if (slash == absl::string_view::npos || BeginsName(path.substr(begin, slash - begin))) return path.substr(begin);
    begin = slash + 1;
  }
}

// The filename in front of the digits of a rank, if they are there; all of it otherwise.
std::string TakeFilename(absl::string_view head, ActionFileName* name) {
  const size_t hyphen = head.rfind('-');
  const absl::string_view last = hyphen == absl::string_view::npos ? head : head.substr(hyphen + 1);
  name->rank = ParseRank(last);
  if (!name->rank.has_value()) return std::string(head);
  return std::string(head.substr(0, hyphen == absl::string_view::npos ? 0 : hyphen));
}

}  // namespace

ActionFileNamer::ActionFileNamer(absl::string_view stage, absl::string_view filename, std::optional<int64_t> rank) {
  bool is_changed = false;
  for (const absl::string_view part : {stage, filename}) {
    if (part.empty()) continue;
    const Safe safe = MakeSafe(part);
    const absl::string_view cut = Cut(safe.text, kMaxPartBytes);
    is_changed |= cut != part || safe.is_folded_somewhere;
    if (!cut.empty()) absl::StrAppend(&prefix_, cut, "-");
  }
  if (rank.has_value()) absl::StrAppend(&prefix_, *rank, "-");
  if (!prefix_.empty()) is_changed |= MakeBeginningSafe(&prefix_);
  if (is_changed) salt_ = absl::StrCat(stage, absl::string_view("\0", 1), filename);
}

std::string ActionFileNamer::Name(absl::string_view action, bool has_hash, uint64_t attempt) const {
  const Safe safe = MakeSafe(action);
  std::string name = absl::StrCat(prefix_, safe.text.empty() ? "profile" : safe.text, kExtension);
  if (prefix_.empty()) has_hash |= MakeBeginningSafe(&name);
  has_hash |= !salt_.empty() || safe.is_folded_somewhere || action.empty() || LikelyAction(safe.text) != action ||
              EndsWithHash(action) || name.size() > kMaxFileNameBytes;
  if (!has_hash) return name;
  name.resize(name.size() - kExtension.size());
  return absl::StrCat(Cut(name, kMaxFileNameBytes - kHashBytes - kExtension.size()),
                      HashText(Hash(salt_, action, attempt)), kExtension);
}

std::string ActionFileNamer::NameFor(absl::string_view action) {
  std::string& name = names_[action];
  if (!name.empty()) return name;
  name = Name(action, /*has_hash=*/false, 0);
  for (uint64_t attempt = 0; !taken_.insert(absl::AsciiStrToLower(name)).second; ++attempt) {
    name = Name(action, /*has_hash=*/true, attempt);
  }
  return name;
}

std::string ActionFileNamer::IndexName() const {
  std::string name = absl::StrCat(prefix_, "actions");
  if (!salt_.empty()) absl::StrAppend(&name, HashText(Hash(salt_, "", 0)));
  return absl::StrCat(name, ".json");
}

std::optional<ActionFileName> ParseActionFileName(absl::string_view path, absl::string_view filename) {
  absl::string_view rest = NameInPath(path);
  if (rest.size() <= kExtension.size() || !absl::EndsWith(rest, kExtension)) return std::nullopt;
  rest.remove_suffix(kExtension.size());
  if (rest.back() == '/') return std::nullopt;
  ActionFileName name;
  if (EndsWithHash(rest) && rest.size() > kHashBytes) {
    name.hash = std::string(rest.substr(rest.size() - kHashBytes + 1));
    rest.remove_suffix(kHashBytes);
  }
  const absl::string_view first = FirstPart(rest);
  if (IsStage(first) && ConsumePart(&rest, first)) name.stage = std::string(first);
  absl::string_view last;
  if (ConsumePart(&rest, filename)) {
    name.filename = std::string(filename);
    ConsumeRank(&rest, &name);
  } else if (const size_t bracket = FindBracket(rest); bracket != absl::string_view::npos) {
    if (bracket > 0) name.filename = TakeFilename(rest.substr(0, bracket - 1), &name);
    rest.remove_prefix(bracket);
  } else if (name.stage.empty()) {
    // The name of any profile.
  } else if (const size_t behind = FindBehindDigits(rest, &last); behind != absl::string_view::npos) {
    name.filename = TakeFilename(rest.substr(0, behind - 1), &name);
    rest.remove_prefix(behind);
  } else if (const absl::string_view part = FirstPart(rest); ConsumePart(&rest, part)) {
    name.filename = std::string(part);
  }
  name.action = LikelyAction(rest);
  return name;
}

std::vector<std::optional<ActionFileName>> ParseActionFileNames(absl::Span<const std::string> paths) {
  std::vector<std::optional<ActionFileName>> names;
  std::map<std::string, size_t> counts;  // of filenames of names with a bracket
  for (const std::string& path : paths) {
    names.push_back(ParseActionFileName(path));
    const std::optional<ActionFileName>& name = names.back();
    if (name.has_value() && absl::StartsWith(name->action, "[")) ++counts[name->filename];
  }
  std::string filename;
  size_t most = 0;
  for (const auto& [text, count] : counts) {
    if (count > most) {
      most = count;
      filename = text;
    }
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!names[i].has_value() || names[i]->action[0] == '[' || most == 0) continue;
    if (!filename.empty()) {
      names[i] = ParseActionFileName(paths[i], filename);
    } else if (!names[i]->rank.has_value() && !names[i]->filename.empty()) {  // there is none
      names[i]->action = absl::StrCat(names[i]->filename, "-", names[i]->action);
      names[i]->filename.clear();
    }
  }
  return names;
}

std::string ActionIndexJson(absl::Span<const ActionIndexEntry> entries) {
  std::string json;
  {
    json::Writer writer(&json, {/*break_depth=*/2, /*indent=*/1, /*blank_after_colon=*/true});
    writer.BeginObject();
    writer.Key("actions");
    writer.BeginArray();
    for (const ActionIndexEntry& entry : entries) {
      writer.BeginObject();
      writer.Key("action");
      writer.String(entry.action);
      writer.Key("file");
      writer.String(entry.file);
      writer.Key("calls");
      writer.Int(entry.call_count);
      writer.Key("duration_ns");
      writer.Int(entry.duration_ns);
      writer.EndObject();
    }
    writer.EndArray();
    writer.EndObject();
  }
  json.push_back('\n');
  return json;
}

}  // namespace tracekiln::pstats
