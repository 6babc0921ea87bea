// The picture with what lies on it: shared by the one who flies and those who watch.
import { h, icon } from "../dom.js";
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
  let audible = false;
  const soundLabel = h("span", {});
  const sound = h("button", { type: "button", class: "glass sound", hidden: true, onclick: () => hear(!audible) }, icon("sound"), soundLabel);
  const bar = h("div", { class: "stage-bar" });
  const element = h("div", { class: "stage-box", tabIndex: -1 }, video, facts.element, sound, keys.element, bar);
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

  // Browsers let a page sound only after somebody has touched it, so it begins silent.
  function hear(on) {
    audible = on;
    soundLabel.textContent = on ? "Sound off" : "Sound on";
    room?.hear(on);
  }
  hear(false);

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
        onSound: () => (sound.hidden = false),
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
      if (gone) return joined.leave();
      room = joined;
      hear(audible); // a room that was entered again sounds as the one before
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
