"""Modules that are installed besides the library and used to look at data: what of them does no more than compute.

Their own code runs as the project's does. What is listed here is what the line's code may ask of them, so that it does
nothing by them that it could not do by itself: no file but one that it names, and no text that is run (`df.query`,
`df.eval`, `df.agg("to_csv")`, a pickle).
"""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["FRAME_METHODS", "INSTALLED", "NEVER_METHODS", "READERS", "READER_KEYWORDS", "TEXT_KEYWORDS", "TO_TEXT"]

_NUMPY_TEXT = """
abs absolute all allclose any arange argmax argmin argsort array array_equal bincount bool_ ceil clip concatenate
corrcoef cos cov cumprod cumsum diff digitize dot dtype e empty exp eye float16 float32 float64 floor full histogram
hstack inf int16 int32 int64 int8 isclose isfinite isinf isnan linspace log log10 log1p log2 matmul max maximum mean
median meshgrid min minimum nan nanmax nanmean nanmin nansum newaxis ones ones_like outer percentile pi prod quantile
ravel repeat reshape round sign sin sort sqrt stack std sum tan tile transpose tril triu uint16 uint32 uint64 uint8
unique var vstack where zeros zeros_like
"""
_PANDAS_TEXT = """
DataFrame NA NaT Series Timedelta Timestamp concat cut date_range isna isnull merge notna notnull qcut to_datetime
to_numeric unique
"""
INSTALLED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "numpy": frozenset(_NUMPY_TEXT.split()),
        "numpy.linalg": frozenset(("det", "eig", "eigvals", "inv", "norm", "solve", "svd")),
        "numpy.random": frozenset(
            ("default_rng", "normal", "permutation", "rand", "randint", "randn", "seed", "uniform")
        ),
        "pandas": frozenset(_PANDAS_TEXT.split()),
    }
)
# Of these the first argument names the file that is read.
READERS = frozenset(("numpy.genfromtxt", "numpy.loadtxt", "pandas.read_csv", "pandas.read_json", "pandas.read_parquet"))
READER_KEYWORDS = frozenset(
    ("comment", "delimiter", "dtype", "encoding", "header", "index_col", "lines", "names", "nrows", "orient",
     "parse_dates", "sep", "skip_header", "skiprows", "usecols")
)  # fmt: skip
_FRAMES_TEXT = """
T all any argmax argmin argsort astype at between clip columns contains corr cov cumprod cumsum day describe diff dot
drop drop_duplicates dropna dt dtype dtypes duplicated empty explode fillna flatten groupby head hour iat idxmax
idxmin iloc info isin isna isnull iterrows itertuples itemsize loc mean median melt memory_usage merge mode month
nbytes ndim ngroups nlargest notna notnull nsmallest nunique pct_change prod quantile rank ravel rename reset_index
reshape sample set_index shape shift size sort_index sort_values squeeze std str sum to_dict to_list to_numpy tolist
transpose unique value_counts var year
"""
FRAME_METHODS = frozenset(_FRAMES_TEXT.split())
NEVER_METHODS = frozenset(("query",))  # of a frame it runs a text
# Without a first argument these give a text, with one they write a file.
TO_TEXT = frozenset(("to_csv", "to_json", "to_markdown", "to_string"))
TEXT_KEYWORDS = frozenset(("header", "indent", "index", "max_colwidth", "max_rows", "orient", "sep"))
