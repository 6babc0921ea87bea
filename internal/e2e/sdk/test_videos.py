"""The official Python SDK, unmodified, against a running server.

Environment: BASE_URL (a server that asks for no key), KEYS_URL with API_KEY and LIMITED_KEY (a server that asks for keys and allows two creates
a minute), PICTURE (a PNG of 64x64 pixels).
"""

import asyncio
import base64
import os
import pathlib
import tempfile
import unittest
import warnings

import openai

warnings.simplefilter("ignore", DeprecationWarning)

BASE_URL, KEYS_URL, PICTURE = os.environ["BASE_URL"], os.environ["KEYS_URL"], pathlib.Path(os.environ["PICTURE"])
client = openai.OpenAI(base_url=BASE_URL + "/v1", api_key="any")
SMALL = {"model": "terrain", "size": "64x64"}


def small(prompt, **more):
    """Creates the cheapest video and waits for it."""
    extra = {"num_frames": 5, **more.pop("extra_body", {})}
    return client.videos.create_and_poll(prompt=prompt, extra_body=extra, poll_interval_ms=50, **SMALL, **more)


class Create(unittest.TestCase):
    def test_create_and_poll(self):
        video = small("a river at dawn", extra_body={"seed": 0})
        self.assertEqual((video.status, video.progress, video.error), ("completed", 100, None))
        self.assertEqual(video.model_extra["seed"], 0)
        self.assertEqual((video.prompt, video.size), ("a river at dawn", "64x64"))

    def test_interval_of_the_server(self):
        video = client.videos.create_and_poll(prompt="at the server's pace", extra_body={"num_frames": 5}, **SMALL)
        self.assertEqual(video.status, "completed")

    def test_file_forms(self):
        for reference in (PICTURE, PICTURE.read_bytes(), ("猫.png", PICTURE.read_bytes()), PICTURE.open("rb")):
            self.assertEqual(small("from a picture", input_reference=reference).status, "completed")

    def test_bracket_names(self):
        url = "data:image/png;base64," + base64.b64encode(PICTURE.read_bytes()).decode()
        video = small("from a URL", extra_body={"input_reference": {"image_url": url}, "extra_params": {"seed": 9}})
        self.assertEqual((video.status, video.model_extra["seed"]), ("completed", 9))

    def test_equal_seeds_give_equal_bytes(self):
        contents = [client.videos.download_content(small("the same", extra_body={"seed": s}).id).read() for s in (0, 0, 1)]
        self.assertEqual(contents[0], contents[1])
        self.assertNotEqual(contents[0], contents[2])

    def test_async_client(self):
        async def make():
            async with openai.AsyncOpenAI(base_url=BASE_URL + "/v1", api_key="any") as c:
                return await c.videos.create_and_poll(prompt="async", extra_body={"num_frames": 5}, poll_interval_ms=50, **SMALL)

        self.assertEqual(asyncio.run(make()).status, "completed")


class Content(unittest.TestCase):
    def test_variants(self):
        video = small("to download")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "v.mp4")
            client.videos.download_content(video.id).write_to_file(file)
            self.assertEqual(file.read_bytes()[4:8], b"ftyp")
            self.assertEqual(client.videos.download_content(video.id, variant="video").read(), file.read_bytes())
        self.assertEqual(client.videos.download_content(video.id, variant="thumbnail").read()[8:12], b"WEBP")
        self.assertEqual(client.videos.download_content(video.id, variant="spritesheet").read()[:2], b"\xff\xd8")
        with self.assertRaises(openai.BadRequestError) as refused:
            client.videos.download_content(video.id, variant="0")
        self.assertEqual(refused.exception.param, "variant")


class Derived(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.source = small("a source")

    def done(self, video):
        video = client.videos.poll(video.id, poll_interval_ms=50)
        self.assertEqual(video.status, "completed", video.error)
        return video

    def test_remix(self):
        video = self.done(client.videos.remix(self.source.id, prompt="in winter"))
        self.assertEqual(video.remixed_from_video_id, self.source.id)

    def test_edit(self):
        # The client takes files alone for `video`; an id goes through extra_body and reaches the wire as video[id].
        self.done(client.videos.edit(prompt="at night", video=openai.omit, extra_body={"video": {"id": self.source.id}}))

    def test_extend(self):
        video = self.done(client.videos.extend(prompt="on", seconds="1", video=openai.omit, extra_body={"video": {"id": self.source.id}}))
        self.assertEqual(video.model_extra["num_frames"], 5 + 16)

    def test_character(self):
        clip = client.videos.download_content(self.source.id).read()
        character = client.videos.create_character(name="Ada", video=("ada.mp4", clip))
        self.assertEqual(client.videos.get_character(character.id).name, "Ada")


class ListAndDelete(unittest.TestCase):
    def test_paging(self):
        made = [client.videos.create(prompt=f"page {i}", extra_body={"num_frames": 5}, **SMALL).id for i in range(5)]
        made.sort()  # those of the same millisecond are listed in the order of their ids
        listed = [v.id for v in client.videos.list(limit=1, order="asc")]
        self.assertEqual(len(listed), len(set(listed)))
        self.assertEqual([i for i in listed if i in made], made)

    def test_delete(self):
        video = small("to delete")
        deleted = client.videos.delete(video.id)
        self.assertEqual((deleted.id, deleted.deleted, deleted.object), (video.id, True, "video.deleted"))
        for gone in (client.videos.retrieve, client.videos.download_content, client.videos.delete):
            with self.assertRaises(openai.NotFoundError):
                gone(video.id)


class Errors(unittest.TestCase):
    def refused(self, kind, call):
        with self.assertRaises(kind) as refused:
            call()
        return refused.exception

    def test_bad_requests(self):
        for fields, param in (
            ({"prompt": ""}, "prompt"), ({"size": "wide"}, "size"), ({"seconds": "four"}, "seconds"), ({"model": "no-such"}, "model"),
            ({"extra_body": {"fps": 0}}, "fps"), ({"extra_body": {"no_such_field": 1}}, "no_such_field"), ({"input_reference": b"text"}, "input_reference"),
        ):
            error = self.refused(openai.APIStatusError, lambda: client.videos.create(**{"prompt": "x", **SMALL, **fields}))
            self.assertEqual(error.status_code // 100, 4, param)
            self.assertEqual((error.param, error.type), (param, "invalid_request_error"), error.message)
            self.assertTrue(error.request_id)

    def test_classes(self):
        self.refused(openai.NotFoundError, lambda: client.videos.retrieve("video_00000000000000000000000000"))
        self.refused(openai.NotFoundError, lambda: client.get("/no/such/route", cast_to=object))
        wrong = openai.OpenAI(base_url=KEYS_URL + "/v1", api_key="wrong")
        self.assertEqual(self.refused(openai.AuthenticationError, wrong.videos.list).code, "invalid_api_key")
        known = openai.OpenAI(base_url=KEYS_URL + "/v1", api_key=os.environ["API_KEY"])
        self.assertEqual(known.videos.list().data, [])
        nobody = openai.OpenAI(base_url="http://127.0.0.1:1/v1", api_key="any", max_retries=0)
        self.refused(openai.APIConnectionError, nobody.videos.list)

    def test_rate_limit(self):
        limited = openai.OpenAI(base_url=KEYS_URL + "/v1", api_key=os.environ["LIMITED_KEY"], max_retries=0)
        create = lambda: limited.videos.create(prompt="x", extra_body={"num_frames": 5}, **SMALL)
        create(), create()
        error = self.refused(openai.RateLimitError, create)
        self.assertGreater(float(error.response.headers["retry-after"]), 0)

    def test_idempotency_key(self):
        headers = {"Idempotency-Key": "py-1"}
        first, second = (client.videos.create(prompt="once", extra_body={"num_frames": 5}, extra_headers=headers, **SMALL) for _ in range(2))
        self.assertEqual(first.id, second.id)


if __name__ == "__main__":
    unittest.main(verbosity=2)
