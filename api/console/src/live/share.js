// Viewer links. The token travels in the fragment, which browsers never send to a server.
import { json } from "../api.js";
import { dialog, field, h, randomID, toast } from "../dom.js";

/** share makes a link for one viewer and shows it. */
export async function share(sessionID) {
  const ticket = await json("POST", `/v1/stream/sessions/${encodeURIComponent(sessionID)}/tokens`, { identity: `viewer-${randomID()}`, role: "viewer" });
  const link = `${location.origin}${location.pathname}#watch=${encode({ u: ticket.livekit_url, t: ticket.token })}`;
  const input = h("input", { type: "text", readOnly: true, value: link, class: "mono", id: "viewer-link" });
  const until = new Date(ticket.expires_at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  queueMicrotask(() => input.select());
  const values = await dialog({
    title: "Viewer link",
    text: `Whoever has it can watch, and cannot steer. It lets one viewer in until ${until}; make another link for the next one.`,
    fields: [field("Link", input)],
    confirm: "Copy",
  });
  if (!values) return;
  try {
    await navigator.clipboard.writeText(link);
    toast("The link is copied.");
  } catch {
    toast("This browser does not let the page copy. Select the link and copy it by hand.", "error");
  }
}

/** encode and decode carry an object in a fragment. */
function encode(value) {
  return btoa(JSON.stringify(value)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** decode answers null for what is no ticket. */
export function decode(text) {
  try {
    const value = JSON.parse(atob(text.replaceAll("-", "+").replaceAll("_", "/")));
    return typeof value.u === "string" && typeof value.t === "string" ? value : null;
  } catch {
    return null;
  }
}
