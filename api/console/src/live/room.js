// The way into a session's room. The client of the media server is loaded when it is first needed.

const workerPrefix = "telefuser-";

/** join enters a room, shows its picture in a video element, and hands on what comes: onMessage a topic and an object, onState a word, onSound that there is sound, which
 * hear turns on and off. */
export async function join({ url, token, video, onMessage, onState, onSound }) {
  const { Room, RoomEvent, Track, setLogLevel } = await import("livekit-client");
  setLogLevel("warn");
  const room = new Room({ adaptiveStream: false, dynacast: false, disconnectOnPageLeave: true });
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const sounds = new Set();
  let audible = false;
  const silence = (track) => track.detach().forEach((element) => element.remove());

  room.on(RoomEvent.TrackSubscribed, (track, _, participant) => {
    if (!participant.identity.startsWith(workerPrefix)) return;
    if (track.kind === Track.Kind.Video) {
      track.attach(video);
      onState("playing");
    } else {
      sounds.add(track);
      if (audible) track.attach();
      onSound();
    }
  });
  room.on(RoomEvent.TrackUnsubscribed, (track) => {
    if (track.kind === Track.Kind.Video) track.detach(video);
    else if (sounds.delete(track)) silence(track);
  });
  room.on(RoomEvent.DataReceived, (payload, participant, _, topic) => {
    if (participant && !participant.identity.startsWith(workerPrefix)) return;
    let message;
    try {
      message = JSON.parse(decoder.decode(payload));
    } catch {
      return; // not one of ours
    }
    onMessage(topic, message);
  });
  room.on(RoomEvent.Reconnecting, () => onState("reconnecting"));
  room.on(RoomEvent.Reconnected, () => onState("reconnected"));
  room.on(RoomEvent.Disconnected, (reason) => onState("disconnected", reason));
  await room.connect(url, token);
  return {
    send: (message) => room.localParticipant.publishData(encoder.encode(JSON.stringify(message)), { reliable: true, topic: "tf.control" }),
    hear(on) {
      audible = on;
      for (const track of sounds) on ? track.attach() : silence(track);
    },
    leave: () => room.disconnect(),
  };
}
