"""Batches with the official Python SDK, unmodified, against a running server that asks for no key.

Environment: BASE_URL.
"""

import json
import os
import time
import unittest

import openai

client = openai.OpenAI(base_url=os.environ["BASE_URL"] + "/v1", api_key="any")
SMALL = {"model": "terrain", "size": "64x64", "num_frames": 5}


def line(custom_id, body):
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": "/v1/videos", "body": body})


def begun(*lines):
    """Uploads a file and makes a batch of it."""
    file = client.files.create(file=("in.jsonl", "\n".join(lines).encode()), purpose="batch")
    return client.batches.create(input_file_id=file.id, endpoint="/v1/videos", completion_window="24h", metadata={"by": "py"})


def ended(batch_id):
    """Waits for the end of a batch."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        batch = client.batches.retrieve(batch_id)
        if batch.status in ("completed", "failed", "expired", "cancelled"):
            return batch
        time.sleep(0.1)
    raise AssertionError(f"{batch_id} did not end")


class Batches(unittest.TestCase):
    def test_videos_of_a_file(self):
        first = begun(line("a", {**SMALL, "prompt": "a lake"}), line("b", SMALL))
        self.assertEqual((first.object, first.status, first.metadata), ("batch", "validating", {"by": "py"}))
        batch = ended(first.id)
        self.assertEqual((batch.status, batch.request_counts.total, batch.request_counts.completed, batch.request_counts.failed), ("completed", 2, 1, 1))
        row = json.loads(client.files.content(batch.output_file_id).text)
        self.assertEqual((row["custom_id"], row["response"]["status_code"]), ("a", 200))
        self.assertEqual(client.videos.retrieve(row["response"]["body"]["id"]).status, "completed")
        row = json.loads(client.files.content(batch.error_file_id).text)
        self.assertEqual((row["custom_id"], row["response"]["status_code"]), ("b", 400))
        self.assertIn(batch.id, [one.id for one in client.batches.list(limit=1)])

    def test_a_bad_file(self):
        batch = ended(begun("{").id)
        self.assertEqual((batch.status, batch.errors.data[0].line), ("failed", 1))

    def test_cancel(self):
        first = begun(*(line(f"l{i}", {"model": "terrain", "prompt": "a long flight"}) for i in range(30)))
        self.assertEqual(client.batches.cancel(first.id).status, "cancelling")
        self.assertEqual(ended(first.id).status, "cancelled")
        with self.assertRaises(openai.NotFoundError):
            client.batches.retrieve("batch_none")


if __name__ == "__main__":
    unittest.main()
