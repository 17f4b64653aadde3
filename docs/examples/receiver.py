"""Receives webhooks and events of Ringback at port 9300, checks their signature, and prints a line for each."""
import base64, hashlib, hmac, http.server, json, os, time

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))

class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        id, at = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        signed = hmac.new(KEY, f"{id}.{at}.".encode() + body, hashlib.sha256).digest()
        expected = "v1," + base64.b64encode(signed).decode()
        signatures = self.headers["webhook-signature"].split(" ")
        valid = any(hmac.compare_digest(expected, one) for one in signatures) and abs(time.time() - int(at)) < 300
        if valid:
            message = json.loads(body)
            data = message["data"]
            print(id, message["type"], data.get("status"), data.get("summary"), flush=True)
        self.send_response(204 if valid else 401)
        self.end_headers()

http.server.HTTPServer(("127.0.0.1", 9300), Receiver).serve_forever()
