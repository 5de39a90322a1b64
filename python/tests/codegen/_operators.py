"""The operators that the generator has, and which of their inputs decide a shape."""

from __future__ import annotations

_GROUPS = {
    1: """
    Gemm MatMul Add Sub Mul Div Pow Sqrt Exp Log Abs Neg Min Max Clip Floor Ceil Round Sign
    Reciprocal Erf Equal Less LessOrEqual Greater GreaterOrEqual And Or Xor Not Where Cast Identity
    Constant Relu LeakyRelu PRelu Elu Selu Gelu Sigmoid HardSigmoid HardSwish Tanh Softplus Softsign
    Softmax LogSoftmax ArgMax ArgMin TopK ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd
    ReduceL1 ReduceL2 ReduceLogSumExp ReduceSumSquare Concat Split Slice Gather GatherElements
    GatherND ScatterElements ScatterND Reshape Flatten Transpose Squeeze Unsqueeze Expand Tile Pad
    Shape Size Range ConstantOfShape OneHot CumSum EyeLike Trilu LayerNormalization
    BatchNormalization InstanceNormalization GRU LSTM RNN""",
    2: """
    Conv AveragePool MaxPool GlobalAveragePool GlobalMaxPool LpPool Einsum QuantizeLinear
    DequantizeLinear If Loop Scan""",
}
GROUP = {name: group for group, names in _GROUPS.items() for name in names.split()}

_REDUCTIONS = [name for name in GROUP if name.startswith("Reduce")]

# Operator to positions of inputs. CumSum's axis and Trilu's k are attributes in all but name.
SHAPE_INPUTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(_REDUCTIONS, (1,)),
    "ConstantOfShape": (0,),
    "CumSum": (1,),
    "Expand": (1,),
    "Loop": (0, 1),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
}
