"""OpenStack Swift as an S3 server on this machine, whose parts can be killed, stopped, started again and
filled. Needs Debian's packages `PACKAGES` and a directory whose file system has extended attributes.
Knows no tune."""
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time

PACKAGES = ("swift-proxy", "swift-account", "swift-container", "swift-object")
PARTS = ("account", "container", "object", "proxy")
START_LIMIT_S = 240

DEFAULT = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = root
swift_dir = {directory}
"""
STORAGE = DEFAULT + """\
devices = {directory}/devices
mount_check = false
[pipeline:main]
pipeline = {part}-server
[app:{part}-server]
use = egg:swift#{part}
"""
# A server that has failed is asked again after a second, and not after a minute. tempauth insists on a cache;
# nobody listens where that is said to be.
PROXY = DEFAULT + """\
[pipeline:main]
pipeline = catch_errors cache s3api tempauth proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
error_suppression_interval = 1
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
allow_multipart_uploads = false
[filter:tempauth]
use = egg:swift#tempauth
user_tune_tester = {secret} .admin
"""
# Its own command takes a second for each of the nine steps. Swift is the system's Python's.
RINGS = """
import sys
from swift.common.ring import RingBuilder

directory, *ports = sys.argv[1:]
for part, port in zip(("account", "container", "object"), map(int, ports)):
    builder = RingBuilder(part_power=2, replicas=1, min_part_hours=0)
    builder.add_dev({"region": 1, "zone": 1, "device": "disk", "weight": 1, "meta": "",
                     "ip": "127.0.0.1", "port": port,
                     "replication_ip": "127.0.0.1", "replication_port": port})
    builder.rebalance()
    builder.get_ring().save(f"{directory}/{part}.ring.gz")
"""


def missing():
    """The names of programs that are not here."""
    return [program for program in (*(f"swift-{part}-server" for part in PARTS), "rclone")
            if shutil.which(program) is None]


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Swift:
    """`with Swift(directory) as swift:` runs it; rclone knows it as `swift:` with `swift.environment`, where
    there is one bucket, `bucket`. What it holds is in `directory`."""

    def __init__(self, directory):
        self.directory = directory
        self.ports = dict(zip(PARTS, free_ports(len(PARTS))))
        self.processes = {}
        secret = secrets.token_hex(16)
        prefix = "RCLONE_CONFIG_SWIFT_"
        self.environment = {
            "RCLONE_CONFIG": "/dev/null", prefix + "TYPE": "s3", prefix + "PROVIDER": "Other",
            prefix + "ENDPOINT": f"http://127.0.0.1:{self.ports['proxy']}", prefix + "REGION": "us-east-1",
            prefix + "ACCESS_KEY_ID": "tune:tester", prefix + "SECRET_ACCESS_KEY": secret,
            prefix + "FORCE_PATH_STYLE": "true", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
            "AWS_CA_BUNDLE": "",  # with one, rclone 1.60 reaches no S3
        }
        os.makedirs(os.path.join(directory, "devices", "disk"))
        self.write("swift.conf", f"[swift-hash]\nswift_hash_path_suffix = {secrets.token_hex(8)}\n"
                                 "[storage-policy:0]\nname = only\ndefault = yes\n")
        for part in PARTS:
            text = PROXY if part == "proxy" else STORAGE
            self.write(f"{part}.conf", text.format(directory=directory, part=part, secret=secret,
                                                   port=self.ports[part]))
        subprocess.run(["/usr/bin/python3", "-c", RINGS, directory,
                        *(str(self.ports[part]) for part in PARTS if part != "proxy")],
                       check=True, capture_output=True)

    def write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="ascii") as file:
            file.write(text)

    def __enter__(self):
        try:
            for part in PARTS:
                self.start(part)
            for part in PARTS:
                self.wait_for(part)
            subprocess.run(["rclone", "mkdir", "swift:bucket"], check=True, timeout=START_LIMIT_S,
                           capture_output=True, env={**os.environ, **self.environment})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()  # one that is stopped ends of that, too
            process.wait()

    def start(self, part):
        with open(os.path.join(self.directory, f"{part}.log"), "ab") as log:
            self.processes[part] = subprocess.Popen(
                [f"swift-{part}-server", os.path.join(self.directory, f"{part}.conf")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait_for(self, part):
        until = time.monotonic() + START_LIMIT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.ports[part])).close()
                return
            except ConnectionRefusedError:
                is_over = time.monotonic() > until or self.processes[part].poll() is not None
                if is_over:
                    with open(os.path.join(self.directory, f"{part}.log"), encoding="utf-8") as log:
                        raise AssertionError(f"swift's {part} does not start: {log.read()[-2000:]}") from None
                time.sleep(0.02)

    def kill(self, part):
        self.processes[part].kill()
        self.processes[part].wait()

    def stop(self, part):
        self.processes[part].send_signal(signal.SIGSTOP)

    def go_on(self, part):
        self.processes[part].send_signal(signal.SIGCONT)

    def start_again(self, part):
        self.start(part)
        self.wait_for(part)

    def fill(self):
        """Leaves no byte on the file system of `directory`."""
        with open(os.path.join(self.directory, "filling"), "wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    pass  # no room for that many

    def make_room(self):
        os.remove(os.path.join(self.directory, "filling"))
