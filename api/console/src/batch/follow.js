// Follows videos that have not ended. A browser opens few connections to one host, so only some are event streams; the rest is polled.
import { events, json, pause } from "../api.js";

const streamsMax = 2;
const pollMS = 1500;

/** follower reports each change of a followed video, until stop. */
export function follower(onVideo, onDeleted) {
  const stop = new AbortController();
  const followed = new Set();
  let streams = 0;

  const ended = (video) => video.status === "completed" || video.status === "failed";

  async function follow(video) {
    if (ended(video) || followed.has(video.id)) return;
    followed.add(video.id);
    const streaming = streams < streamsMax;
    try {
      if (streaming) {
        streams++;
        if (await stream(video.id)) return;
      }
      await poll(video.id);
    } finally {
      if (streaming) streams--;
      followed.delete(video.id);
    }
  }

  /** stream answers whether the video's end was seen. */
  async function stream(id) {
    try {
      for await (const event of events(`/v1/videos/${encodeURIComponent(id)}/events`, stop.signal)) {
        const video = JSON.parse(event.data);
        if (event.type === "video.deleted") {
          onDeleted(id);
          return true;
        }
        onVideo(video);
        if (ended(video)) return true;
      }
    } catch {
      // what the stream cannot tell, polling will
    }
    return stop.signal.aborted;
  }

  async function poll(id) {
    while (!stop.signal.aborted) {
      try {
        const video = await json("GET", `/v1/videos/${encodeURIComponent(id)}`, undefined, { signal: stop.signal });
        onVideo(video);
        if (ended(video)) return;
      } catch (error) {
        if (error.status === 404) return onDeleted(id);
        if (error.status === 401 || error.name === "AbortError") return;
      }
      await pause(pollMS, stop.signal);
    }
  }

  return { follow, stop: () => stop.abort() };
}
