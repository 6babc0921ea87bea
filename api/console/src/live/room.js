// The way into a session's room. The client of the media server is loaded when it is first needed.

const workerPrefix = "telefuser-";

/** join enters a room and hands on what comes: onTrack takes an element to show, onMessage a topic and an object, onState a word. */
export async function join({ url, token, video, onMessage, onState, onSound }) {
  const { Room, RoomEvent, Track, setLogLevel } = await import("livekit-client");
  setLogLevel("warn");
  const room = new Room({ adaptiveStream: false, dynacast: false, disconnectOnPageLeave: true });
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const sounds = [];

  room.on(RoomEvent.TrackSubscribed, (track, _, participant) => {
    if (!participant.identity.startsWith(workerPrefix)) return;
    if (track.kind === Track.Kind.Video) {
      track.attach(video);
      onState("playing");
    } else {
      sounds.push(track);
      onSound?.(() => sounds.forEach((one) => one.attach()));
    }
  });
  room.on(RoomEvent.TrackUnsubscribed, (track) => {
    if (track.kind === Track.Kind.Video) track.detach(video);
    else track.detach().forEach((element) => element.remove());
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
    leave: () => room.disconnect(),
  };
}
