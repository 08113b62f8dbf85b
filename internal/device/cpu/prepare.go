package cpu

import (
	"fmt"
	"slices"

	"tinylm/internal/device"
)

// Prepare binds k to its buffers; see [device.Device].
func (d *Device) Prepare(k device.Kernel, out, in []device.Buffer) (device.Launch, error) {
	launch, err := d.bind(k, out, in)
	if err != nil || slices.ContainsFunc(out, func(b device.Buffer) bool { return b.Ptr != nil }) {
		return launch, err
	}
	return func() error { return nil }, nil // nothing is wanted
}

func (d *Device) bind(k device.Kernel, out, in []device.Buffer) (device.Launch, error) {
	if k, ok := k.(device.Copy); ok {
		return prepareCopy(d, k, out, in)
	}
	t, err := floatType(k, out, in)
	if err != nil {
		return nil, err
	}
	if t == device.Float64 {
		return prepare[float64](d, k, out, in)
	}
	return prepare[float32](d, k, out, in)
}

// floatType returns the floating-point type that the kernel works in: that of its first buffer of such
// a type, inputs first (SumSquares has a float64 result whatever it reads).
func floatType(k device.Kernel, out, in []device.Buffer) (device.DType, error) {
	for _, b := range append(in[:len(in):len(in)], out...) {
		if b.DType == device.Float32 || b.DType == device.Float64 {
			return b.DType, nil
		}
	}
	return 0, fmt.Errorf("cpu: %s has no floating-point buffer", k.Name())
}

func prepare[F float](d *Device, k device.Kernel, out, in []device.Buffer) (device.Launch, error) {
	switch k := k.(type) {
	case device.MatMul:
		return prepareMatMul[F](d, k, out, in)
	case device.Linear:
		return prepareLinear[F](d, k, out, in)
	case device.LinearWeightGrad:
		return prepareLinearWeightGrad[F](d, k, out, in)
	case device.SumLeading:
		return prepareSumLeading[F](d, k, out, in)
	case device.Embedding:
		return prepareEmbedding[F](d, k, out, in)
	case device.EmbeddingGrad:
		return prepareEmbeddingGrad[F](d, k, out, in)
	case device.LayerNorm:
		return prepareLayerNorm[F](d, k, out, in)
	case device.LayerNormGrad:
		return prepareLayerNormGrad[F](d, k, out, in)
	case device.Attention:
		return prepareAttention[F](d, k, out, in)
	case device.AttentionGrad:
		return prepareAttentionGrad[F](d, k, out, in)
	case device.CachedAttention:
		return prepareCachedAttention[F](d, k, out, in)
	case device.Activation:
		return prepareActivation[F](d, k, out, in)
	case device.ActivationGrad:
		return prepareActivationGrad[F](d, k, out, in)
	case device.Dropout:
		return prepareDropout[F](d, k, out, in)
	case device.KeepMask:
		return prepareKeepMask[F](d, k, out, in)
	case device.Softmax:
		return prepareSoftmax[F](d, k, out, in)
	case device.SoftmaxGrad:
		return prepareSoftmaxGrad[F](d, k, out, in)
	case device.CrossEntropy:
		return prepareCrossEntropy[F](d, k, out, in)
	case device.CrossEntropyGrad:
		return prepareCrossEntropyGrad[F](d, k, out, in)
	case device.CrossEntropyBoth:
		return prepareCrossEntropyBoth[F](d, k, out, in)
	case device.Add:
		return prepareAdd[F](d, k, out, in)
	case device.Transpose:
		return prepareTranspose[F](d, k, out, in)
	case device.SliceLast:
		return prepareSliceLast[F](d, k, out, in)
	case device.PadLast:
		return preparePadLast[F](d, k, out, in)
	case device.Expand:
		return prepareExpand[F](d, k, out, in)
	case device.Reduce:
		return prepareReduce[F](d, k, out, in)
	case device.RowMax:
		return prepareRowMax[F](d, k, out, in)
	case device.OneHot:
		return prepareOneHot[F](d, k, out, in)
	case device.Fill:
		return prepareFill[F](d, k, out, in)
	case device.SumSquares:
		return prepareSumSquares[F](d, k, out, in)
	case device.AdamW:
		return prepareAdamW[F](d, k, out, in)
	}
	return nil, fmt.Errorf("cpu: no kernel %q (%T)", k.Name(), k)
}
