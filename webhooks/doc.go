// Package webhooks sends events to the endpoints of tenants, as the Standard Webhooks specification says (1.0.0).
//
// It promises that an event that Redis holds is sent at least once to every endpoint that wanted it when it happened, until the receiver takes it or the schedule is
// spent, whatever happens to the processes in between: the event was written by the script that ended the job, and a delivery that a sender does not settle is another
// sender's when its lease ends. Receivers tell repetitions by the header webhook-id, which is the event's id and the same in every attempt; the time in webhook-timestamp and the signature are
// each attempt's own. A receiver that is dead, slow or sly costs nobody else more than a slot now and then, and reaches nothing through us: see internal/outbound.
//
// It must not know where events come from. It stands on jobs, for what there is to send, and on internal/outbound.
package webhooks
