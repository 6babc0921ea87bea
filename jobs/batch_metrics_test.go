package jobs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/jobs"
)

// TestBatchGauges count the batches that have not ended, and how long one has waited for somebody.
func TestBatchGauges(t *testing.T) {
	b := setupMini(t, jobs.Config{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(b.store.Collector())
	if _, _, err := b.store.CreateBatch(t.Context(), batchRequest("", "")); err != nil {
		t.Fatal(err)
	}
	b.pass(t, 7*time.Second)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if m := f.GetMetric(); len(m) == 1 {
			got[f.GetName()] = m[0].GetGauge().GetValue()
		}
	}
	if got["telefuser_jobs_batches_open"] != 1 || got["telefuser_jobs_batches_oldest_due_seconds"] < 7 {
		t.Error(fmt.Sprint(got["telefuser_jobs_batches_open"], got["telefuser_jobs_batches_oldest_due_seconds"]))
	}
}
