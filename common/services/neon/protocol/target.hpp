// Target: the half of NEON that announces buffers and receives the puts of origins.
//
// Per origin and tag a record counts announcements. Frames of the announced generation go to the buffer; those of later
// ones are parked until their announcement is made. A generation has fired, which means that the origin has notified,
// when all frames that its final one counts are in place.
//
// Memory: an origin parks at most Limits::budget bytes here, kOverhead included, which is checked; one
// that sends more, or names more than kMaxTags tags that have not been announced to it yet, breaks the protocol.
// Source: NEON thesis 5.2.3 and 5.2.4 (announcement, completion), 4.3.3.3 (the three cases of
// arrival: all, some, nothing is there when the announcement is made).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/sparse_table.hpp"
#include "flow/credits.hpp"
#include "services/neon/protocol/arrivals.hpp"
#include "services/neon/protocol/carrier.hpp"
#include "services/neon/protocol/confirmation.hpp"
#include "services/neon/protocol/frame.hpp"
#include "services/neon/protocol/mapped_target.hpp"
#include "services/neon/protocol/operation.hpp"
#include "services/neon/protocol/tag_table.hpp"

namespace lfc::neon {

inline constexpr std::size_t kMaxTags = 1 << 16;        // of one origin, without an announcement
inline constexpr std::size_t kMaxAssemblies = 1 << 12;  // notified puts of one origin under way

class Target final : public MappedTarget {
 public:
  Target(std::uint32_t ranks, const Limits& limits, Outlet& outlet, Carrier& carrier,
         Statistics& statistics);
  ~Target();

  // Makes the buffer available to each of its origins once more. busy: this tag is announced to one of them now, and
  // nothing has changed.
  Status announce(Announcement& buffer);
  // Takes it back; later frames for it are discarded. True: it was live. The grants of origins that can write to it
  // directly are recalled: keep the buffer while Announcement::unheard is not 0. Its tag is busy as long.
  bool withdraw(Announcement& buffer);

  bool on_data(Rank from, const Header& header, const std::byte* payload, std::size_t size);
  // A write of the origin is in place that has notified under a key of this tag.
  bool on_notified(Rank from, std::uint32_t tag, std::uint32_t key);
  bool on_get(Rank from, const Header& header);
  bool on_want(Rank from, const Header& header);
  bool on_recalled(Rank from, const Header& header);
  bool on_confirm(Rank from, const Header& header);
  bool on_put_notify(Rank from, const Header& header, const std::byte* payload, std::size_t size);
  bool on_get_notify(Rank from, const Header& header);
  void on_lost(Rank peer);
  // Called when the carrier has room again. False: not enough.
  bool pump(Rank peer);

  // Forgets frames that are parked, at the end: nothing is announced afterwards.
  void drop_early();
  // Takes the budget owed to the origin, for the next frame to it. Call put_back() if that was not sent.
  std::uint32_t collect(Rank origin) noexcept;
  void put_back(Rank origin, std::uint32_t bytes) noexcept {
    if (Peer* const known = peers_.find(origin)) known->owed.add(bytes);
  }

  // Early data that no announcement has taken: (origin, tag, generation, frames).
  struct Early {
    Rank origin;
    std::uint32_t tag, generation, frames;
  };
  std::vector<Early> early() const;

 private:
  struct Piece {  // a parked frame
    Piece* next = nullptr;
    Header header;
    SharedBytes bytes;
  };
  struct Generation {  // one that is not announced yet
    Generation* next = nullptr;
    std::uint32_t number = 0;
    std::uint32_t frames = 0;
    Fifo<Piece> pieces;
  };
  struct Record : Opened {
    std::uint32_t withdrawn = 0;       // the last generation that was withdrawn,
    std::uint32_t granted = 0;         // the last generation granted to the origin
    Announcement* recalled = nullptr;  // withdrawn, and the origin has not sent `recalled`
    Arrivals arrivals;                 // frames of that generation,
    std::uint32_t expected = 0;        // of so many; 0: not known yet
    Generation* early = nullptr;       // in order
    bool wanted = false;               // the origin waits for generation `want`
    bool wanted_always = false;
    std::uint32_t want = 0;

    bool is_busy() const noexcept {
      return live != nullptr || recalled != nullptr || closing != nullptr;
    }

    void acknowledge_recall() noexcept { --std::exchange(recalled, nullptr)->unheard; }
    // Forgets its parked frames. Returns the budget that they took.
    std::uint32_t drop_early() noexcept;
    // The live generation has ended.
    void close() noexcept {
      live = nullptr;
      arrivals.clear();
      expected = 0;
    }
  };
  struct GetReply {  // a get whose bytes are being sent
    GetReply* next = nullptr;
    Header header;
    const std::byte* from = nullptr;
    std::uint64_t size = 0;
    std::uint64_t moved = 0;
    Record* record = nullptr;  // where it counts when it has been read
    Announcement* buffer = nullptr;
    Slot* slot = nullptr;  // incremented then
  };
  struct Assembly {  // a notified put of several frames
    std::uint32_t sequence;
    std::uint32_t received;
    bool failed;
  };
  struct Peer {
    TagTable<Record> records;
    std::size_t unknown = 0;  // of them: tags that the origin alone has named
    Fifo<GetReply> get_replies;
    std::vector<Assembly> assemblies;
    Confirmations confirmations;
    std::uint32_t held = 0;  // budget that parked data takes
    OwedCredits owed;        // budget to be given back, bytes
  };

  // Returns the record of that tag, made now if the origin may name one more; else null.
  Record* record(Rank from, std::uint32_t tag);
  void park(Peer& peer, Record& record, const Header& header, const std::byte* payload,
            std::size_t size);
  bool accept(Record& record, const Header& header, const std::byte* payload, std::size_t size);
  void accept_data(Record& record, const Header& header, const std::byte* payload,
                   std::size_t size);
  bool count(Record& record, const Header& header);
  void fire(Opened& record) override;
  Status announce_to_all(Announcement& buffer);
  void open(Record& record, Announcement& buffer);
  void adopt(Record& record, Generation& early);
  void grant(Record& record);
  void refuse_grant(const Record& record, std::uint32_t generation, std::uint8_t flags);
  void take_back(Record& record);
  void refund(Rank origin, std::uint32_t bytes);
  void reply_to_get(Rank to, const Header& request, const std::byte* from, Record* record,
                    Announcement* buffer, Slot* slot);
  bool send_get_reply(Rank to, GetReply& now);
  // Replies to the operation `id` of an origin, without data.
  void reply(Rank to, Kind kind, std::uint64_t id, std::uint8_t flags);
  void confirm_waiting(const Record& record, std::uint32_t arrived);

  const Limits limits_;
  Outlet& outlet_;
  Carrier& carrier_;
  Statistics& statistics_;
  SparseTable<Peer> peers_;
};

}  // namespace lfc::neon
