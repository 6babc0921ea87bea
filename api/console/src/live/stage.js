// The picture with what lies on it: shared by the one who flies and those who watch.
import { h } from "../dom.js";
import { hud, meter } from "./hud.js";
import { pads } from "./pad.js";
import { join } from "./room.js";

// Where picture and window differ by no more than this, the picture fills the window and loses its edge.
const cropMax = 1.28;

/** stage makes the picture. set takes what the pads hold, and is absent for a viewer. */
export function stage(set) {
  const video = h("video", { autoplay: true, muted: true, playsInline: true, "aria-label": "The live world" });
  const facts = hud();
  const keys = pads(set);
  const sound = h("button", { type: "button", class: "glass", hidden: true }, "Sound on");
  const bar = h("div", { class: "stage-bar" });
  const element = h("div", { class: "stage-box", tabIndex: -1 }, video, facts.element, keys.element, bar);
  const stopMeter = meter(video, ({ fps, dropped }) => {
    const playing = video.videoWidth > 0;
    facts.fps(playing ? fps : null);
    if (playing) facts.droppedHere(dropped);
  });
  const fit = () => {
    if (!video.videoWidth) return;
    const [a, b] = [video.videoWidth / video.videoHeight, element.clientWidth / element.clientHeight];
    video.classList.toggle("fill", Math.max(a / b, b / a) <= cropMax);
  };
  const sizes = new ResizeObserver(fit);
  sizes.observe(element);
  video.addEventListener("resize", fit);
  let room = null;
  let gone = false;

  return {
    element,
    bar,
    facts,
    keys,
    /** enter joins the room. onMessage hears what the stage itself does not show. */
    async enter({ url, token, onMessage, onState }) {
      const joined = await join({
        url,
        token,
        video,
        onState,
        onSound(play) {
          sound.hidden = false;
          sound.onclick = () => (play(), (sound.hidden = true));
          bar.prepend(sound);
        },
        onMessage(topic, message) {
          if (topic === "tf.status" && message.type === "chunk" && message.data) {
            facts.status(message.data);
            if (message.data.stage === "chunk_sent") {
              facts.chunk(message.data);
              keys.show("applied", (message.data.controls ?? []).join(""));
            }
          }
          onMessage(topic, message);
        },
      });
      if (gone) joined.leave();
      else room = joined;
    },
    send: (message) => room?.send(message).catch(() => {}), // a link that is down is told of by onState
    leave() {
      gone = true;
      stopMeter();
      sizes.disconnect();
      room?.leave();
      element.remove();
    },
  };
}
