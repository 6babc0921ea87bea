package api

import (
	"net/http"
	"runtime"
	"slices"

	"github.com/labstack/echo/v4"

	"telefuser/openapi"
	"telefuser/workers/contract"
)

// getMetadata answers GET /v1/service/metadata: the contract of the pipeline that the query names, or of the default one.
func (s *Server) getMetadata(c echo.Context) error {
	query, err := queryOf(c, "model")
	if err != nil {
		return err
	}
	model := chosen{contract: s.models.standard}
	if name := query.Get("model"); name != "" {
		if model, err = s.models.choose(name); err != nil {
			return err
		}
	}
	l, err := s.load(c.Request().Context())
	if err != nil {
		return err
	}
	p := model.contract
	metadata := openapi.ServiceMetadata{
		Parallelism: int64(max(1, p.Device.GPUs)), SecurityLevel: "builtin", Runner: "engine", DeclaredPipelineContract: true, ContractVersion: p.Version,
		PipelineName: p.Name, SupportedTasks: []string{}, SupportedMediaTypes: []string{}, ExecutionMode: openapi.ServiceMetadataExecutionModeSerialSinglePipeline,
		EffectiveMaxConcurrentTasks: l.slots, Entrypoints: []string{"/v1/videos"}, TaskContracts: map[string]openapi.TaskContract{},
		ServiceEffectiveMaxConcurrentTasks: l.slots, ServiceConfiguredMaxConcurrentTasks: s.configured(l), MaxQueueSize: int64(s.cfg.QueuedMax),
		Pool:        openapi.PoolSummary{ReplicaDeviceIds: [][]string{}, PerInstanceExecutionMode: "serial"},
		Environment: openapi.Environment{TelefuserVersion: s.cfg.Version, GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Cpus: runtime.NumCPU()},
	}
	if l.slots > 1 {
		metadata.ExecutionMode = openapi.ServiceMetadataExecutionModeConcurrentPipelinePool
	}
	for _, w := range l.workers {
		if w.Pipeline == p.Name {
			metadata.Pool.NumReplicas += int64(w.Slots)
			metadata.Pool.LiveReplicas += int64(w.Slots)
			metadata.Pool.ReplicaDeviceIds = append(metadata.Pool.ReplicaDeviceIds, append([]string{}, w.Devices...))
		}
	}
	addTasks(&metadata, p)
	if err := s.addStreamMetadata(c.Request().Context(), &metadata); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, metadata)
}

// addTasks lists what each task takes.
func addTasks(metadata *openapi.ServiceMetadata, p contract.Contract) {
	parameters := parameterContracts(p)
	for _, task := range p.Tasks {
		metadata.SupportedTasks = append(metadata.SupportedTasks, task.Name)
		if !slices.Contains(metadata.SupportedMediaTypes, task.MediaType) {
			metadata.SupportedMediaTypes = append(metadata.SupportedMediaTypes, task.MediaType)
		}
		metadata.TaskContracts[task.Name] = openapi.TaskContract{MediaType: task.MediaType, RequiredInputs: append([]string{}, task.RequiredInputs...),
			OptionalInputs: append([]string{}, task.OptionalInputs...), Parameters: parameters}
	}
	if len(p.Tasks) > 0 {
		metadata.Task = p.Tasks[0].Name
	}
}

// parameterContracts are the fields of the contract in the service's words.
func parameterContracts(p contract.Contract) map[string]openapi.ParameterContract {
	out := map[string]openapi.ParameterContract{}
	for _, field := range p.Fields() {
		entry := openapi.ParameterContract{Type: field.Type, Default: field.Default, Description: field.Description, Exposed: !field.Live, Minimum: field.Min, Maximum: field.Max}
		if len(field.Enum) > 0 {
			entry.Enum = &field.Enum
		}
		if len(field.Aliases) > 0 {
			entry.Aliases = &field.Aliases
		}
		if field.LengthMax > 0 {
			entry.MaxLength = &field.LengthMax
		}
		out[field.Name] = entry
	}
	return out
}
