package workers

import (
	"time"

	"telefuser/jobs"
)

// manifestSchema is the version of Manifest.
const manifestSchema = 1

// Manifest lies beside each artifact and is enough to make its record again. It holds what the client asked for, and no key of anybody.
type Manifest struct {
	Schema int `json:"schema"`
	jobs.RecordManifest
	// ContractName and ContractVersion say what made it: the same request gives the same bytes under the same version.
	ContractName    string `json:"contract_name"`
	ContractVersion string `json:"contract_version"`
	// Objects are the sizes and digests of the other objects by their names.
	Objects map[string]ManifestObject `json:"objects"`
}

// ManifestObject describes one object beside the manifest.
type ManifestObject struct {
	Key       string `json:"key"`
	SizeBytes int64  `json:"size_bytes"`
	SHA256    string `json:"sha256"`
}

// manifest describes the attempt's result. Its completion is a little later, when the record says so.
func (a *attempt) manifest(result jobs.Result, objects map[string]ManifestObject) Manifest {
	job := a.claim.Job
	return Manifest{
		Schema: manifestSchema,
		RecordManifest: jobs.RecordManifest{
			ID: a.claim.ID, Tenant: job.Tenant, Attempt: a.claim.Attempt, CreatedAt: job.CreatedAt, StartedAt: job.StartedAt,
			// The clock of the records plus what has passed since, so that a worker's wrong clock does not show.
			CompletedAt: job.StartedAt.Add(time.Since(a.started)), Spec: a.spec, Result: result,
		},
		ContractName: a.contract.Name, ContractVersion: a.contract.Version, Objects: objects,
	}
}
