// tracekiln clocks: by how much the clocks of the ranks of a run differ, and who waits for whom in collectives.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "formats/json/writer.h"
#include "tools/commands.h"
#include "tools/open_trace.h"
#include "tools/output_path.h"
#include "tools/rank_inputs.h"
#include "tools/text_table.h"

namespace tracekiln::tools {
namespace {

using dataset::ClockAlignment;
using dataset::RankClock;
using dataset::RankWaiting;
using dataset::Unmatched;

std::string DriftText(double drift) { return drift == 0 ? "0" : absl::StrFormat("%.3f ppm", drift * 1e6); }

std::string Text(absl::string_view directory, const ClockAlignment& alignment) {
  std::string out = absl::StrCat(Printable(directory), ": ", alignment.clocks.size(), " ranks, ",
                                 alignment.matched_count, " collectives matched\n");
  if (alignment.matched_count == 0) {
    absl::StrAppend(&out,
                    "  nothing to align by: clocks can't be compared, and times of different ranks must not be\n");
  } else {
    std::vector<std::vector<std::string>> rows = {
        {"rank", "offset", "drift", "collectives", "residual", "worst", "waited", "starts after first (worst)"}};
    for (const RankClock& clock : alignment.clocks) {
      std::vector<std::string> row = {absl::StrCat(clock.rank)};
      if (clock.is_aligned) {
        row.insert(row.end(), {MicrosText(clock.offset_ns), DriftText(clock.drift), absl::StrCat(clock.instance_count),
                               MicrosText(clock.residual_ns), MicrosText(clock.worst_ns)});
      } else {
        row.insert(row.end(), {"not aligned", "", "0", "", ""});
      }
      const auto waiting = std::find_if(alignment.waiting.begin(), alignment.waiting.end(),
                                        [&](const RankWaiting& w) { return w.rank == clock.rank; });
      if (waiting == alignment.waiting.end()) {
        row.insert(row.end(), {"", ""});
      } else {
        row.insert(row.end(), {MicrosText(waiting->wait_sum_ns), MicrosText(waiting->worst_skew_ns)});
      }
      rows.push_back(std::move(row));
    }
    absl::StrAppend(&out, TextTable(rows, "  "), "  offsets are against rank ", *alignment.reference,
                    "; waits and starts are on its clock, with these offsets applied\n");
  }
  for (const Unmatched& u : alignment.unmatched) {
    absl::StrAppend(&out, "  unmatched  rank ", u.rank, ": ", u.count, " ", CollectiveKindName(u.kind),
                    u.group.empty() ? "" : absl::StrCat(" of group ", Printable(u.group, 80)),
                    u.first_seq.has_value() ? absl::StrCat(", the first is Seq ", *u.first_seq) : "", ": ", u.reason,
                    "\n");
  }
  return out;
}

void WriteJson(absl::string_view directory, const ClockAlignment& alignment, std::string* out) {
  json::Writer w(out);
  w.BeginObject();
  w.Key("directory"), w.String(directory);
  w.Key("reference");
  if (alignment.reference.has_value()) {
    w.Int(*alignment.reference);
  } else {
    w.Null();
  }
  w.Key("matched"), w.Uint(alignment.matched_count);
  w.Key("is_complete"), w.Bool(alignment.is_complete());
  w.Key("ranks");
  w.BeginArray();
  for (const RankClock& clock : alignment.clocks) {
    w.BeginObject();
    w.Key("rank"), w.Int(clock.rank);
    w.Key("is_aligned"), w.Bool(clock.is_aligned);
    if (clock.is_aligned) {
      w.Key("offset_ns"), w.Int(clock.offset_ns);
      w.Key("origin_ns"), w.Int(clock.origin_ns);
      w.Key("drift"), w.Double(clock.drift);
      w.Key("collectives"), w.Uint(clock.instance_count);
      w.Key("residual_ns"), w.Int(clock.residual_ns);
      w.Key("worst_ns"), w.Int(clock.worst_ns);
    }
    for (const RankWaiting& waiting : alignment.waiting) {
      if (waiting.rank != clock.rank) continue;
      w.Key("wait_sum_ns"), w.Int(waiting.wait_sum_ns);
      w.Key("skew_sum_ns"), w.Int(waiting.skew_sum_ns);
      w.Key("worst_skew_ns"), w.Int(waiting.worst_skew_ns);
      w.Key("first_skews_ns");
      w.BeginArray();
      for (int64_t skew : waiting.skew_ns) w.Int(skew);
      w.EndArray();
    }
    w.EndObject();
  }
  w.EndArray();
  w.Key("unmatched");
  w.BeginArray();
  for (const Unmatched& u : alignment.unmatched) {
    w.BeginObject();
    w.Key("rank"), w.Int(u.rank);
    w.Key("group"), w.String(u.group);
    w.Key("kind"), w.String(CollectiveKindName(u.kind));
    w.Key("count"), w.Uint(u.count);
    w.Key("first_seq");
    if (u.first_seq.has_value()) {
      w.Int(*u.first_seq);
    } else {
      w.Null();
    }
    w.Key("reason"), w.String(u.reason);
    w.EndObject();
  }
  w.EndArray();
  w.EndObject();
}

int Run(const ParsedFlags& flags, CommandContext& context) {
  if (const absl::Status status = CheckReadFlags(flags, context.formats); !status.ok()) {
    return context.Misused(status.message());
  }
  const std::string how = flags.Get("format").value_or("text");
  if (how != "text" && how != "json") return context.Misused("--format is text or json");
  if (flags.positional().size() != 1) return context.Misused("give one run directory");
  const std::string& directory = flags.positional()[0];
  const absl::StatusOr<std::vector<RankInput>> inputs = FindRankInputs(directory, flags, context);
  if (!inputs.ok()) return context.Fail(inputs.status());
  const absl::StatusOr<ClockAlignment> alignment = ReadClocks(*inputs, flags, context);
  if (!alignment.ok()) return context.Fail(alignment.status());
  std::string out;
  if (how == "json") {
    WriteJson(directory, *alignment, &out);
    out += '\n';
  } else {
    out = Text(directory, *alignment);
  }
  context.out.Write(out);
  return kDone;
}

}  // namespace

const Command& ClocksCommand() {
  static const Command* const command = [] {
    auto* c = new Command{
        "clocks",
        "DIRECTORY",
        "offsets of the ranks' clocks, from the common ends of their collectives; who waits for whom",
        "Collectives are matched by process group and number, or by order where they have none and all ranks have\n"
        "equally many. The offset of a rank is the median of how much later its collectives end than the reference's\n"
        "(the lowest rank); a drift is given where it explains the scatter. Nothing is changed: convert --merge "
        "applies\n"
        "offsets and says so in its output.",
        "  tracekiln clocks run7/\n"
        "  tracekiln clocks run7/ --ranks 0-7 --format json",
        {},
        Run};
    for (const Flag& flag : RankFlags()) c->flags.push_back(flag);
    for (const Flag& flag : ReadFlags()) c->flags.push_back(flag);
    c->flags.push_back({"format", 'f', "text|json", "how to print it"});
    return c;
  }();
  return *command;
}

}  // namespace tracekiln::tools
