#include "engine/packet.hpp"

namespace lfc {

Packet PacketPool::take(FrameType type, std::uint8_t tag, std::size_t body) {
  if (in_use_ == all_.size()) all_.push_back(std::make_unique<WaitingPacket>(*this));
  WaitingPacket& item = *all_[in_use_];
  item.place = static_cast<std::uint32_t>(in_use_++);
  item.type = type;
  item.tag = tag;
  Packet packet(&item);
  if (body != 0) packet.share(bytes_.take(body));
  return packet;
}

bool PacketPool::end(WaitingPacket& item, Result result) noexcept {
  if (item.note == 0) {
    const Packet ended(&item);
    return false;
  }
  item.result = result;
  left_.push(item);
  return true;
}

void PacketPool::give_back(WaitingPacket& item) noexcept {
  item.owned = {};
  item.body = {};
  item.head_size = 0;
  item.note = 0;
  const std::uint32_t place = item.place;
  all_[--in_use_]->place = place;
  std::swap(all_[place], all_[in_use_]);
  if (all_.size() - in_use_ > kSpares) all_.pop_back();
}

}  // namespace lfc
