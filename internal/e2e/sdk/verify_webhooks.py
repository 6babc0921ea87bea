"""The verifier of the official Python SDK, unmodified, over calls that a receiver got, and its webhooks resource against a running server.

Environment: CALLS (a JSON file: a list of {secret, headers, body}), BASE_URL (a server that asks for no key), HOOK_URL (an address that it may call).
"""

import json
import os
import pathlib
import unittest

import openai

client = openai.OpenAI(base_url=os.environ["BASE_URL"] + "/v1", api_key="any", max_retries=0)


class Webhooks(unittest.TestCase):
    def test_every_call_verifies(self):
        calls = json.loads(pathlib.Path(os.environ["CALLS"]).read_text())
        self.assertTrue(calls)
        for call in calls:
            body, headers, secret = call["body"], call["headers"], call["secret"]
            client.webhooks.verify_signature(body, headers, secret=secret)
            event = client.webhooks.unwrap(body, headers, secret=secret)
            self.assertIn(event.type, ("video.completed", "video.failed"))
            self.assertEqual(event.id, headers["webhook-id"])
            with self.assertRaises(openai.InvalidWebhookSignatureError):
                client.webhooks.verify_signature(body + " ", headers, secret=secret)

    def test_the_resource(self):
        made = client.webhooks.create(name="py", url=os.environ["HOOK_URL"], event_types=["video.failed"])
        self.assertTrue(made.signing_secret.startswith("whsec_"))
        self.assertEqual(client.webhooks.retrieve(made.id).name, "py")
        self.assertEqual(client.webhooks.test(made.id, event_type="video.failed").status_code, 204)
        self.assertEqual(client.webhooks.update(made.id, name="python").name, "python")
        self.assertNotEqual(client.webhooks.rotate_secret(made.id).signing_secret, made.signing_secret)
        self.assertIn(made.id, [endpoint.id for endpoint in client.webhooks.list(limit=1)])
        self.assertIn("video.completed", client.webhooks.event_types.list().data)
        self.assertTrue(client.webhooks.delete(made.id).deleted)
        with self.assertRaises(openai.NotFoundError):
            client.webhooks.retrieve(made.id)


if __name__ == "__main__":
    unittest.main()
