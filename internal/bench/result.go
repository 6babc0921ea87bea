package bench

import "time"

// Result is what a run was like.
type Result struct {
	// RateTarget is the plan's, RateAchieved that of the successes over the time until the last answer; both in requests a second.
	RateTarget   float64 `json:"rate_target"`
	RateAchieved float64 `json:"rate_achieved"`
	// DurationS is the length of the schedule, ElapsedS the time until the last answer, in seconds.
	DurationS   float64 `json:"duration_s"`
	ElapsedS    float64 `json:"elapsed_s"`
	Connections int     `json:"connections"`
	// Total is every kind together, Kinds each for itself.
	Total KindResult            `json:"total"`
	Kinds map[string]KindResult `json:"kinds"`
	// Errors counts failures by class: http_429, timeout, refused, closed, other.
	Errors map[string]int `json:"errors"`
	// LatenessMS is how late requests were sent by the fault of the client: past the moment at which a connection was free for them.
	LatenessMS Quantiles `json:"lateness_ms"`
}

// KindResult is what one kind of request met.
type KindResult struct {
	// Requests is the number that was scheduled; Failed of them failed and Dropped were never sent.
	Requests int `json:"requests"`
	Failed   int `json:"failed"`
	Dropped  int `json:"dropped"`
	// ResponseMS counts from the intended moment, ServiceMS from the moment of sending. Failures and drops count as slower than everything.
	ResponseMS Quantiles `json:"response_ms"`
	ServiceMS  Quantiles `json:"service_ms"`
}

// tally collects the samples of one kind.
type tally struct {
	response, service []time.Duration
	failed, dropped   int
}

func (t *tally) add(s sample) {
	if !s.ok {
		t.failed++
		return
	}
	t.response = append(t.response, s.done-s.intended)
	t.service = append(t.service, s.done-s.sent)
}

func (t *tally) result() KindResult {
	lost := t.failed + t.dropped
	return KindResult{
		Requests: len(t.response) + lost, Failed: t.failed, Dropped: t.dropped,
		ResponseMS: NewQuantiles(t.response, lost), ServiceMS: NewQuantiles(t.service, lost),
	}
}

func newResult(plan Plan, source Source, senders []*sender) Result {
	r := Result{
		RateTarget: plan.Rate, DurationS: plan.Duration.Seconds(), Connections: len(senders),
		Kinds: map[string]KindResult{}, Errors: map[string]int{},
	}
	var total tally
	kinds := map[string]*tally{}
	for _, name := range source.Kinds {
		kinds[name] = &tally{}
	}
	var lateness []time.Duration
	var elapsed time.Duration
	for _, s := range senders {
		for _, one := range s.samples {
			total.add(one)
			kinds[source.Kinds[one.kind]].add(one)
			lateness = append(lateness, one.sent-one.free)
			elapsed = max(elapsed, one.done)
		}
		for kind, n := range s.dropped {
			total.dropped += n
			kinds[source.Kinds[kind]].dropped += n
		}
		for class, n := range s.errors {
			r.Errors[class] += n
		}
	}
	// A run is never shorter than its schedule: the last request leaves one interval before the end.
	r.ElapsedS = max(elapsed, plan.Duration).Seconds()
	r.RateAchieved = float64(len(total.response)) / r.ElapsedS
	r.Total, r.LatenessMS = total.result(), NewQuantiles(lateness, 0)
	for name, t := range kinds {
		r.Kinds[name] = t.result()
	}
	return r
}

// Clean says whether every request succeeded.
func (r Result) Clean() bool { return r.Total.Failed+r.Total.Dropped == 0 }
