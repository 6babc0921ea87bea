// Package livekit is the media server as the streaming room sees it: rooms, tokens, and a publisher that turns frames into a live VP8 track and messages
// into data packets.
//
// It promises that a token carries its role's rights and no other, that nobody but the controller is heard, that a newer epoch puts an older one out, that
// a viewer who asks gets a keyframe but cannot make the stream worse for the others, and that every call of the media server's ends within
// Config.CallTimeout. It knows no session record, no job and no GPU.
//
// There is no audio yet: the track "telefuser-audio" comes with the first pipeline that makes sound.
package livekit
