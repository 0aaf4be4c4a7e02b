#!/usr/bin/env python3
"""A wire with a given speed: a device of that name in each of two network namespaces, and this process between them.

  `tests/fault/cable.py DEVICE MBIT/S NETNS ADDRESS/PREFIX NETNS ADDRESS/PREFIX &`

Prints `up` when it can be used; it is gone with this process. The kernel accepts any speed for such a device, while
a veth always reports 10,000 Mbit/s.
"""
import array
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
SIOCETHTOOL, ETHTOOL_GSET, ETHTOOL_SSET = 0x8946, 1, 2
SPEED = 12  # offsets of the speed in the kernel's struct ethtool_cmd: of its lower 16 bits, and of its upper ones
SPEED_HIGH = 28
FRAME = 65536


def make_device(name):
    """The device exists until the returned descriptor is closed, even if it moves to another namespace."""
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return device


def claim_speed(name, megabits):
    with socket.socket() as any_socket:
        command = array.array("B", bytes(44))
        request = struct.pack("16sP16x", name.encode(), command.buffer_info()[0])
        struct.pack_into("I", command, 0, ETHTOOL_GSET)
        fcntl.ioctl(any_socket, SIOCETHTOOL, request)
        struct.pack_into("I", command, 0, ETHTOOL_SSET)
        struct.pack_into("H", command, SPEED, megabits & 0xFFFF)
        struct.pack_into("H", command, SPEED_HIGH, megabits >> 16)
        fcntl.ioctl(any_socket, SIOCETHTOOL, request)


def plug(name, megabits, namespace, address, end):
    # The device gets a unique name here, as other processes may use this namespace.
    here = f"lfc{os.getpid()}{end}"[:15]
    device = make_device(here)
    claim_speed(here, megabits)
    subprocess.run(["ip", "link", "set", here, "netns", namespace, "name", name], check=True)
    subprocess.run(["ip", "-n", namespace, "addr", "add", address, "dev", name], check=True)
    subprocess.run(["ip", "-n", namespace, "link", "set", name, "up"], check=True)
    return device


def main():
    name, megabits, one, one_address, other, other_address = sys.argv[1:]
    ends = [plug(name, int(megabits), one, one_address, 0), plug(name, int(megabits), other, other_address, 1)]
    print("up", flush=True)
    while True:
        for end in select.select(ends, [], [])[0]:
            os.write(ends[1 - ends.index(end)], os.read(end, FRAME))


main()
