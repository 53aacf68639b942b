"""Reads the scalars out of a trial's event files, with nothing but the format's description: frames with
masked CRC-32C, and the few fields of protobuf that matter. Knows no tune and no TensorBoard.
"""
import pathlib
import struct

TABLE = []
for number in range(256):
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records_in(content):
    """The data of each record; ValueError if anything is torn or damaged."""
    at = 0
    while at < len(content):
        head = content[at:at + 12]
        if len(head) < 12 or struct.unpack("<I", head[8:])[0] != masked_crc(head[:8]):
            raise ValueError(f"no record at {at}")
        length = struct.unpack("<Q", head[:8])[0]
        data, tail = content[at + 12:at + 12 + length], content[at + 12 + length:at + 16 + length]
        if len(tail) < 4 or struct.unpack("<I", tail)[0] != masked_crc(data):
            raise ValueError(f"a torn record at {at}")
        yield data
        at += 16 + length


def fields_of(message):
    """(number, value) of each field."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 2: None, 5: 4}[key & 7]
        if size is None:
            size = varint()
        yield key >> 3, message[at:at + size]
        at += size


def scalars_of(trial):
    """[(step, {tag: value})] of the trial's directory, in the order of the files."""
    found = []
    for file in sorted(pathlib.Path(trial).glob("*tfevents*")):
        for data in records_in(file.read_bytes()):
            event = dict(fields_of(data))
            values = {}
            for _, value in fields_of(event.get(5, b"")):
                parts = dict(fields_of(value))
                if 2 in parts:
                    values[parts[1].decode()] = struct.unpack("<f", parts[2])[0]
            if values:
                found.append((event[2], values))
    return found


def as_float(number):
    """As it stands in an event file."""
    return struct.unpack("<f", struct.pack("<f", number))[0]
