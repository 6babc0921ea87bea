package streaming

import (
	"time"
)

// snapshot is the facts now.
func (r *run) snapshot() Facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.facts
}

// measureChunk sends the facts of a chunk that was made.
func (r *run) measureChunk(it *item, length time.Duration) {
	frames := len(it.Frames)
	r.mu.Lock()
	r.facts.GeneratedFrames += int64(frames)
	r.mu.Unlock()
	r.metrics.chunks.WithLabelValues("processed").Inc()
	r.metrics.chunkLatency.Observe(it.made.Seconds())
	r.metrics.sloBudget.Observe(length.Seconds())
	met := "met"
	if it.made > length {
		met = "missed"
	}
	r.metrics.slo.WithLabelValues(met).Inc()
	r.metrics.gauges.chunk(met == "met", it.ready)
	r.stats.chunk(it.made, it.StagesNS)
	facts := r.timingFacts(it)
	for stage, ns := range it.StagesNS {
		r.metrics.stages.WithLabelValues(stage).Observe(time.Duration(ns).Seconds())
		facts = append(facts, fact{"phase", fields{"index": it.Index, "name": stage, "duration_ns": ns}})
	}
	r.out.measure(append(facts, fact{"chunk", fields{"index": it.Index, "frames": frames, "residence_ns": it.made.Nanoseconds(), "keys": it.Keys, "pose": it.Pose}})...)
}

// shown reports a chunk whose frames were sent, and keeps the state from which another owner could go on after it. whole is false when the run ended in it.
func (r *run) shown(it *item, out shown, whole bool) {
	if out.dropped > 0 {
		r.drop(out.dropped)
	}
	if !whole {
		return
	}
	r.mu.Lock()
	r.facts.Chunks++
	r.facts.CompletedFrames += int64(len(it.Frames))
	if it.State != nil {
		r.state = it.State
	}
	facts := r.facts
	r.mu.Unlock()
	r.record.put(note{facts: &facts, state: it.State})
	r.metrics.chunks.WithLabelValues("published").Inc()
	var latency any
	if len(it.actions) > 0 {
		oldest := it.actions[0]
		latency = it.ready.Sub(oldest).Seconds()
		for _, arrived := range it.actions {
			r.metrics.actionToFrame.Observe(max(0, out.begun.Sub(arrived).Seconds()))
		}
	}
	spec := r.claim.session.Spec
	index, frames, residence := it.Index, out.frames, it.made.Seconds()
	r.out.status("chunk_sent", &index, fields{
		"index": index, "controls": keyList(it.Keys), "pose": it.Pose, "frames": frames, "dropped_frames": out.dropped,
		"output_cadence_seconds": 1 / float64(spec.FPS), "pipeline_residence_seconds": residence, "applied_control_latency_seconds": latency,
		"chunk_elapsed_seconds": residence, "control_to_chunk_seconds": latency,
		"runtime_metrics": r.runtimeMetrics(), "stream_progress": r.progress(),
		"measurement": fields{"index": index, "frames": len(it.Frames), "compute_seconds": residence, "memory": []any{}, "phases": phases(it.StagesNS)},
		"transport_measurement": fields{"decoded_ready_at": stamp(it.ready), "publish_started_at": stamp(out.begun), "publish_finished_at": stamp(out.ended),
			"publish_seconds": out.ended.Sub(out.begun).Seconds(), "frames": frames, "pacing": "realtime"},
	})
}

// phases are a chunk's stages in seconds.
func phases(stages map[string]int64) fields {
	out := fields{}
	for name, ns := range stages {
		out[name+"_seconds"] = time.Duration(ns).Seconds()
	}
	return out
}

// runtimeMetrics are the counts of a run. What is unknown is null.
func (r *run) runtimeMetrics() fields {
	out := r.inbox.counts()
	facts := r.snapshot()
	out["session_age_seconds"] = time.Since(r.claimed).Seconds()
	out["output_queue_high_watermark"] = r.chunks.highWatermark()
	out["dropped_video_payloads"] = facts.DroppedFrames
	out["dropped_status_payloads"] = r.out.drops()
	out["worker_start_seconds"] = r.openedIn.Seconds()
	out["first_chunk_seconds"] = nil
	if facts.FirstFrameNS != nil {
		out["first_chunk_seconds"] = time.Duration(*facts.FirstFrameNS).Seconds()
	}
	return out
}

// progress is how far a session is. A session without a bound has no target.
func (r *run) progress() fields {
	facts, spec := r.snapshot(), r.claim.session.Spec
	out := fields{"service_max_duration_seconds": nil, "target_duration_seconds": nil, "target_frames": nil, "total_chunks": nil, "fps": spec.FPS,
		"generated_frames": facts.GeneratedFrames, "generated_duration_seconds": float64(facts.GeneratedFrames) / float64(spec.FPS), "completed_chunks": facts.Chunks}
	if spec.SessionTimeout > 0 {
		out["service_max_duration_seconds"] = spec.SessionTimeout.Seconds()
	}
	if spec.Frames > 0 {
		out["target_frames"], out["target_duration_seconds"] = spec.Frames, float64(spec.Frames)/float64(spec.FPS)
	}
	return out
}
