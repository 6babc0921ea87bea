// The view of a viewer's link: the picture and its facts, and nothing to steer with.
import { h } from "../dom.js";
import { decode } from "./share.js";
import { stage } from "./stage.js";

/** watchView fills main and answers how to leave. */
export function watchView(main, text) {
  const ticket = decode(text);
  if (!ticket) return notice(main, "This is no viewer link", "Ask for another one.");
  const picture = stage();
  let over = false;
  main.append(picture.element);
  const end = (title, sentence) => {
    if (over) return;
    over = true;
    picture.leave();
    notice(main, title, sentence);
  };
  picture
    .enter({
      url: ticket.u,
      token: ticket.t,
      onState(state) {
        if (state === "reconnecting") picture.facts.say("Connection lost, trying again");
        if (state === "playing" || state === "reconnected") picture.facts.say("Watching");
        if (state === "disconnected") end("The session is over", "Or the link has been used up.");
      },
      onMessage(topic, message) {
        if (topic !== "tf.status") return;
        if (message.type === "done" || message.data?.type === "error") end("The session is over", message.error ?? "It was ended.");
      },
    })
    .catch(() => end("The session cannot be joined", "The link may be too old, or the session over."));
  return () => {
    over = true;
    picture.leave();
  };
}

function notice(main, title, sentence) {
  main.replaceChildren(h("div", { class: "start" }, h("div", { class: "panel stack start-panel", role: "alert" }, h("h1", {}, title), h("p", { class: "soft" }, sentence), h("a", { class: "button", href: "#videos" }, "To the console"))));
  return () => {};
}
