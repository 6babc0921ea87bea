package streaming

// The reasons of an end.
const (
	ReasonDeleted          = "deleted"
	ReasonStopped          = "stopped"
	ReasonFinished         = "finished"
	ReasonSessionTimeout   = "session_timeout"
	ReasonControllerAbsent = "controller_absent"
	ReasonRoomEmpty        = "room_empty"
	ReasonRoomDeleted      = "room_deleted"
	ReasonQueueTimeout     = "queue_timeout"
	ReasonControlIdle      = "control_idle"
	ReasonWorkerLost       = "worker_lost"
	ReasonPipelineFailed   = "pipeline_failed"
	ReasonMediaLost        = "media_lost"
	ReasonReplaced         = "replaced"
	ReasonDrained          = "drained"
)

// ending is what a reason makes of a session: its status and the sentence for people.
type ending struct {
	status  Status
	message string
}

// endings is the whole table; docs/sessions.md shows it.
var endings = map[string]ending{
	ReasonDeleted:          {StatusClosed, "The session was ended by request."},
	ReasonStopped:          {StatusClosed, "The controller stopped the session."},
	ReasonFinished:         {StatusClosed, "All frames were delivered."},
	ReasonSessionTimeout:   {StatusExpired, "The session reached its longest duration."},
	ReasonControllerAbsent: {StatusClosed, "The controller was away for too long."},
	ReasonRoomEmpty:        {StatusClosed, "Everybody left the room."},
	ReasonRoomDeleted:      {StatusClosed, "The room was deleted."},
	ReasonQueueTimeout:     {StatusExpired, "No worker became free in time."},
	ReasonControlIdle:      {StatusExpired, "The controller sent nothing for too long."},
	ReasonWorkerLost:       {StatusFailed, "The worker that ran the session was lost."},
	ReasonPipelineFailed:   {StatusFailed, "The pipeline failed."},
	ReasonMediaLost:        {StatusFailed, "The media server could not be reached."},
	ReasonReplaced:         {StatusFailed, "Somebody else took the worker's place in the room."},
	ReasonDrained:          {StatusClosed, "The worker was taken out of service."},
}

// Reasons are all the reasons that a session may end with.
func Reasons() []string {
	out := make([]string, 0, len(endings))
	for reason := range endings {
		out = append(out, reason)
	}
	return out
}

// EndStatus is the status that a reason leads to; failed for an unknown one.
func EndStatus(reason string) Status {
	if e, ok := endings[reason]; ok {
		return e.status
	}
	return StatusFailed
}
