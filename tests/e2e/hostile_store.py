"""A store that speaks as much of S3 as rclone needs, keeps objects in memory, believes everybody, and
misbehaves when it is told to. Knows no tune."""
import email.utils
import hashlib
import http.server
import os
import threading
import time
import urllib.parse
import xml.sax.saxutils

#: What `Store.fault` may be, beside "": each request is answered so.
ERRORS = {"denied": (403, "AccessDenied"), "skewed": (403, "RequestTimeTooSkewed"),
          "busy": (503, "SlowDown"), "full": (507, "QuotaExceeded")}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def name(self):
        path, _, query = self.path.partition("?")
        return urllib.parse.unquote(path).lstrip("/"), urllib.parse.parse_qs(query, True)

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def fail(self, status, code):
        self.reply(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode(),
                   Content_Type="application/xml")

    def misbehaves(self):
        store = self.server.store
        store.requests += 1
        if store.fault == "hanging":
            store.released.wait()
            self.close_connection = True
            return True
        if store.fault in ERRORS:
            self.fail(*ERRORS[store.fault])
            self.close_connection = True
            return True
        return False

    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.misbehaves():
            return
        store = self.server.store
        if store.fault == "cramped" and len(body) > store.room_bytes:
            self.fail(*ERRORS["full"])
            self.close_connection = True
            return
        if store.fault == "slow":
            time.sleep(len(body) / store.slow_bytes_per_s)
        if store.fault == "truncating":
            body = body[:len(body) // 2]
        if store.fault == "damaging" and body:
            body = bytes([body[0] ^ 1]) + body[1:]
        with store.lock:
            store.objects[self.name()[0]] = (body, time.time(), dict(self.headers.items()))
        self.reply(200, ETag='"%s"' % hashlib.md5(body).hexdigest())

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        if self.misbehaves():
            return
        name, query = self.name()
        if "/" not in name:
            self.list(name, query)
            return
        held = self.server.store.held
        if held and held in name and not name.endswith("COMMIT.json"):
            self.server.store.holding.set()
            self.server.store.released.wait()
            self.close_connection = True
            return
        with self.server.store.lock:
            found = self.server.store.objects.get(name)
        if found is None:
            self.fail(404, "NoSuchKey")
            return
        body, modified, headers = found
        etag = hashlib.md5(body).hexdigest()
        store = self.server.store
        if self.command == "GET" and store.torn_reads > 0 and name.endswith(store.torn):
            store.torn_reads -= 1
            body = bytes([body[0] ^ 1]) + body[1:]
        meta = {key: value for key, value in headers.items() if key.lower().startswith("x-amz-meta-")}
        self.reply(200, body, ETag=f'"{etag}"',
                   Last_Modified=email.utils.formatdate(modified, usegmt=True), **meta)

    def do_DELETE(self):
        if self.misbehaves():
            return
        with self.server.store.lock:
            self.server.store.objects.pop(self.name()[0], None)
        self.reply(204)

    def list(self, bucket, query):
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        contents, folders = [], set()
        with self.server.store.lock:
            objects = sorted(self.server.store.objects.items())
        for name, (body, modified, _) in objects:
            if not name.startswith(bucket + "/" + prefix):
                continue
            key = name[len(bucket) + 1:]
            rest = key[len(prefix):]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.split(delimiter)[0] + delimiter)
                continue
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(modified))
            contents.append(f"<Contents><Key>{urllib.parse.quote(key)}</Key><LastModified>{stamp}"
                            f"</LastModified><ETag>&quot;{hashlib.md5(body).hexdigest()}&quot;</ETag>"
                            f"<Size>{len(body)}</Size></Contents>")
        contents += [f"<CommonPrefixes><Prefix>{xml.sax.saxutils.escape(urllib.parse.quote(folder))}"
                     "</Prefix></CommonPrefixes>" for folder in sorted(folders)]
        self.reply(200, ("<?xml version='1.0'?><ListBucketResult><EncodingType>url</EncodingType>"
                         "<IsTruncated>false</IsTruncated>" + "".join(contents) +
                         "</ListBucketResult>").encode(), Content_Type="application/xml")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # whoever has gone away in the middle


class Store:
    """`with Store() as store:` runs it; rclone knows it as `hostile:` with `store.environment`."""

    def __init__(self):
        self.objects, self.lock, self.fault, self.requests = {}, threading.Lock(), "", 0
        self.slow_bytes_per_s = 50_000
        self.room_bytes = 100_000  # of a store that is cramped: for one object
        self.torn, self.torn_reads = "", 0  # so many answers for names that end so are damaged
        #: Who gets an object with that in its name waits for `released`, and is told by `holding`.
        self.held = ""
        self.holding, self.released = threading.Event(), threading.Event()

    def __enter__(self):
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.store = self
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        port = self.server.server_address[1]
        prefix = "RCLONE_CONFIG_HOSTILE_"
        self.environment = {
            "RCLONE_CONFIG": "/dev/null", prefix + "TYPE": "s3", prefix + "PROVIDER": "Other",
            prefix + "ENDPOINT": f"http://127.0.0.1:{port}", prefix + "REGION": "us-east-1",
            prefix + "ACCESS_KEY_ID": "somebody", prefix + "SECRET_ACCESS_KEY": "whatever-it-is",
            prefix + "FORCE_PATH_STYLE": "true", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
            # An address that tune takes away from rclone, which would not read a single object with it.
            "AWS_CA_BUNDLE": "/nowhere",
        }
        return self

    def __exit__(self, *_):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def save_to(self, directory):
        """What is there, as files."""
        with self.lock:
            objects = dict(self.objects)
        for name, (body, _, _) in objects.items():
            path = os.path.join(directory, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(body)
