#include "link/verbs/datagrams.hpp"

#include <cerrno>
#include <cstring>

#include "wire/key.hpp"

namespace lfc::verbs {

bool Datagrams::open(Device& device, std::string& why_not) {
  const std::size_t mtu = std::size_t{128} << device.port().active_mtu;  // enum ibv_mtu: 1 is 256
  room_ = std::min(kLargest, mtu);
  key_ = static_cast<std::uint32_t>(random_key().low) & 0x7fffffffu;  // the others are the system's
  if (!slab_.open(device, (kReceives + kSends) * kPlace, IBV_ACCESS_LOCAL_WRITE, why_not))
    return false;
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = device.completions().queue();
  attributes.qp_type = IBV_QPT_UD;
  attributes.cap = {kSends, kReceives, 1, 1, 0};
  pair_ = verbs::own(device.api().create_qp(device.domain(), &attributes), device.api().destroy_qp);
  if (!pair_ || !ready(device)) {
    why_not = std::string("a queue pair for datagrams: ") + std::strerror(errno);
    return false;
  }
  for (std::uint32_t index = 0; index < kReceives; ++index) give_back(index);
  for (std::uint32_t index = 0; index < kSends; ++index) free_.push_back(kReceives + index);
  return true;
}

bool Datagrams::ready(Device& device) noexcept {
  const auto change = [&](ibv_qp_attr attributes, int mask) {
    return device.api().modify_qp(pair_.get(), &attributes, mask) == 0;
  };
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = device.choice().port.number;
  init.qkey = key_;
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  return change(init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) &&
         change(receive, IBV_QP_STATE) && change(send, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

bool Datagrams::send(ibv_ah* way, const Target& target, std::span<const std::byte> bytes) noexcept {
  if (free_.empty()) return false;
  const std::uint32_t index = free_.back();
  std::memcpy(place(index), bytes.data(), bytes.size());
  ibv_sge piece{reinterpret_cast<std::uint64_t>(place(index)),
                static_cast<std::uint32_t>(bytes.size()), slab_.key()};
  ibv_send_wr request{};
  request.wr_id = WorkId{WorkId::Kind::datagram_out, 0, index}.word();
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.ud.ah = way;
  request.wr.ud.remote_qpn = target.queue_pair;
  request.wr.ud.remote_qkey = target.key;
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(pair_.get(), &request, &bad) != 0) return false;
  free_.pop_back();
  return true;
}

std::span<const std::byte> Datagrams::received(std::uint32_t index,
                                               std::uint32_t size) const noexcept {
  if (index >= kReceives || size < kRoute) return {};
  return {place(index) + kRoute, size - kRoute};
}

void Datagrams::give_back(std::uint32_t index) noexcept {
  ibv_sge piece{reinterpret_cast<std::uint64_t>(place(index)),
                static_cast<std::uint32_t>(kRoute + kLargest), slab_.key()};
  ibv_recv_wr request{};
  request.wr_id = WorkId{WorkId::Kind::datagram_in, 0, index}.word();
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  static_cast<void>(ibv_post_recv(pair_.get(), &request, &bad));
}

}  // namespace lfc::verbs
