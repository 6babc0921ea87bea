package jobs

// The keys, all behind the configured prefix P. Scripts build them from the prefix, so Redis Cluster is not supported. asynq's own keys ("asynq:{P.pipeline}:...") are
// asynq's and are never written here.
//
//	P:j:<job>            hash    the record (codec.go)
//	P:q:<pipeline>       zset    queued jobs by creation time, in microseconds
//	P:l:<pipeline>:<t>   zset    a tenant's lane: its queued jobs that may begin, by creation time and priority
//	P:turns:<pipeline>   zset    tenants with a lane, by their turn
//	P:n:<nonce>          string  "job attempt" that a claim began, for as long as its answer may be asked for again
//	P:running_max        hash    tenant -> how many of its jobs may run; P:u:<tenant> is the set of those that do
//	P:w:<key>            string  until when an API key's work so far would last at the rate of its quota
//	P:stored             hash    tenant -> bytes of its files and videos
//	P:r:<pipeline>       zset    running jobs by the end of their lease
//	P:t:<tenant>         zset    a tenant's jobs, all of score 0, so by id
//	P:pipelines          set     pipelines that ever had a job
//	P:outbox             zset    id:attempt of jobs whose ticket is not known to be out, by the time it was due
//	P:expiry             zset    ended jobs by the end of their retention
//	P:staged             zset    objects without a record yet, by the time they are given up
//	P:garbage            zset    "due\njob\nkey..." by the time they may be deleted
//	P:i:<tenant>:<hash>  string  "job fingerprint" of an idempotency key
//	P:d:<tenant>:<n>     hash    fingerprint -> job of creates without a key in the n-th DedupeTTL since 1970
//	P:k:<hash>           hash    an API key by the SHA-256 of its secret
//	P:keys               hash    API key id -> that SHA-256
//	P:f:<file>  P:c:<c>  hash    a file, a character; P:ft:<tenant> and P:ct:<tenant> are their indexes
//	P:h:<webhook>        hash    a webhook; P:hs:<webhook> its secrets, P:ht:<tenant> a tenant's webhooks by id
//	P:hd:<webhook>:<e>   hash    a delivery: event e for that webhook
//	P:hq:<webhook>       zset    its deliveries that have not ended by when the next attempt is due; P:hf:<webhook> those under way by the end of their lease
//	P:hl:<webhook>       zset    its deliveries by time, for people to look at
//	P:hnext  P:hgone     zset, set  webhooks by when something is due; those whose deliveries have to be swept up
//	P:b:<batch>          hash    a batch; P:bl:<batch> its lines, P:bt:<tenant> a tenant's batches by id, P:bo:<tenant> those that have not ended
//	P:bi:<tenant>:<hash> string  "batch fingerprint" of an idempotency key of a batch; P:bd:<tenant>:<fingerprint> of one without a key
//	P:bq                 zset    batches that have not ended by when they are due, or by the end of their holder's lease
//	P:workers  P:worker  zset, hash  live workers by the end of their term; what they say of themselves
//	P:reaper             string  who reaps now
//	P:up                 zset    processes by until when they count as up
//	P:totals             hash    counts since the database was made
//	P:epoch              string  names this set of records; its loss is how a flush is seen
//	P:changed  P:stop    channels  a job's record changed; its run must stop; P:hwake: a delivery is due

// recordKey is the key of a job's record.
func (s *Store) recordKey(id string) string { return s.cfg.Prefix + ":j:" + id }

// queuedKey is the key of a pipeline's queue.
func (s *Store) queuedKey(pipeline string) string { return s.cfg.Prefix + ":q:" + pipeline }

// runningKey is the key of a pipeline's leases.
func (s *Store) runningKey(pipeline string) string { return s.cfg.Prefix + ":r:" + pipeline }

// key is a key without further parts.
func (s *Store) key(name string) string { return s.cfg.Prefix + ":" + name }
