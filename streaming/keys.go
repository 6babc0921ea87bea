package streaming

// The keys, all behind the configured prefix P and ":live". Scripts build them from the prefix, so Redis Cluster is not supported.
//
//	P:live:s:<session>   hash    the record (codec.go)
//	P:live:q:<pipeline>  zset    waiting sessions by creation time, in microseconds
//	P:live:t:<tenant>    zset    a tenant's sessions by creation time; P:live:all everybody's
//	P:live:o:<tenant>    set     those of them that have not ended
//	P:live:leases        zset    assigned and owned sessions by the end of their lease
//	P:live:workers       zset    workers by the end of their term
//	P:live:w:<worker>    hash    what a worker says of itself
//	P:live:ws:<worker>   set     sessions in its slots: assigned to it, run by it, or not yet let go of
//	P:live:pipelines     zset    pipelines by their last heartbeat
//	P:live:on            set     sessions that have, or are about to have, a publisher
//	P:live:due:<kind>    zset    sessions by a deadline: session, controller, room, control, queue, reassign, gone
//	P:live:rooms         zset    rooms of ended sessions by the time they are to be closed
//	P:live:events        channel "wake <pipeline>", "stop <session>"

// eventsChannel is where nudges go.
func (s *Store) eventsChannel() string { return s.cfg.Prefix + ":live:events" }
