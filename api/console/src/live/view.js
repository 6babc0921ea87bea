// The view of live worlds: starts a session, comes back to one after a reload, ends it.
import { json } from "../api.js";
import { h, randomID } from "../dom.js";
import { flight } from "./flight.js";
import { startPanel } from "./start.js";

const KEPT = "telefuser.session";
const ended = new Set(["closed", "failed", "expired"]);

/** liveView fills main and answers how to leave. */
export function liveView(main) {
  let leave = () => {};
  let gone = false;

  function showStart(note) {
    const panel = startPanel(start);
    if (note) panel.element.firstChild.prepend(h("p", { class: "notice", role: "status" }, note));
    main.replaceChildren(panel.element);
    leave = panel.stop;
  }

  async function start(values) {
    const ticket = await json("POST", "/v1/stream/sessions", { ...values, identity: `console-${randomID()}`, delivery_mode: "latest" });
    keep({ id: ticket.session_id });
    fly(ticket);
  }

  function fly(ticket) {
    if (gone) return;
    leave();
    main.replaceChildren();
    leave = flight(main, ticket, (note) => {
      keep(null);
      leave();
      showStart(note);
    });
  }

  /** comeBack finds the session that this tab had before a reload. */
  async function comeBack() {
    const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
    if (!kept) return showStart();
    try {
      const path = `/v1/stream/sessions/${encodeURIComponent(kept.id)}`;
      const session = await json("GET", path);
      if (ended.has(session.status)) throw new Error(session.message ?? "The session is over.");
      const token = await json("POST", `${path}/tokens`, { identity: session.controller, role: "controller" });
      fly({ ...session, ...token });
    } catch (error) {
      keep(null);
      if (!gone) showStart(error.status === 404 ? undefined : error.message);
    }
  }

  comeBack();
  return () => {
    gone = true;
    leave();
  };
}

const keep = (value) => (value ? sessionStorage.setItem(KEPT, JSON.stringify(value)) : sessionStorage.removeItem(KEPT));
