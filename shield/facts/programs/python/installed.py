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
_TORCH_TEXT = """
all allclose any arange bfloat16 cat device equal eye float16 float32 float64 full int64 isfinite isinf isnan linspace
manual_seed max mean median min no_grad norm ones rand randint randn stack std sum tensor topk unique zeros
"""
INSTALLED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "numpy": frozenset(_NUMPY_TEXT.split()),
        "numpy.linalg": frozenset(("det", "eig", "eigvals", "inv", "norm", "solve", "svd")),
        "numpy.random": frozenset(
            ("default_rng", "normal", "permutation", "rand", "randint", "randn", "seed", "uniform")
        ),
        "pandas": frozenset(_PANDAS_TEXT.split()),
        # Of these what opens something is called with some arguments only.
        "duckdb": frozenset(("__version__",)),
        "openpyxl": frozenset(("__version__",)),
        "openpyxl.utils": frozenset(("column_index_from_string", "get_column_letter")),
        "torch": frozenset(_TORCH_TEXT.split()),
        "torch.backends.mps": frozenset(("is_available",)),
        "torch.cuda": frozenset(
            (
                "current_device",
                "device_count",
                "get_device_capability",
                "get_device_name",
                "is_available",
                "is_bf16_supported",
                "max_memory_allocated",
                "mem_get_info",
                "memory_allocated",
            )
        ),
        "torch.version": frozenset(("cuda",)),
    }
)
# Of these the first argument names the file that is read.
_READERS_TEXT = """
numpy.genfromtxt numpy.loadtxt openpyxl.load_workbook pandas.read_csv pandas.read_excel pandas.read_feather
pandas.read_fwf pandas.read_json pandas.read_parquet pandas.read_table
"""
READERS = frozenset(_READERS_TEXT.split())
READER_KEYWORDS = frozenset(
    ("comment", "delimiter", "dtype", "encoding", "header", "index_col", "lines", "names", "nrows", "orient",
     "parse_dates", "sep", "skip_header", "skiprows", "usecols", "data_only", "dayfirst", "decimal", "engine",
     "keep_default_na", "low_memory", "na_values", "read_only", "sheet_name", "skipfooter", "thousands")
)  # fmt: skip
_FRAMES_TEXT = """
T all any argmax argmin argsort astype at between clip columns contains corr cov cumprod cumsum day describe diff dot
drop drop_duplicates dropna dt dtype dtypes duplicated empty explode fillna flatten groupby head hour iat idxmax
idxmin iloc info isin isna isnull iterrows itertuples itemsize loc mean median melt memory_usage merge mode month
nbytes ndim ngroups nlargest notna notnull nsmallest nunique pct_change prod quantile rank ravel rename reset_index
reshape sample set_index shape shift size sort_index sort_values squeeze std str sum to_dict to_list to_numpy tolist
transpose unique value_counts var year
add bfill cat ceil codes combine_first cummax cummin cumprod date day_name dayofweek dayofyear days div divide eq
expanding ffill filter floordiv ge get_group groups gt head is_monotonic_increasing join last le lt mod month_name mul
multiply ne nth pow quarter resample reindex rolling rpow sem set_axis shape size skew stack sub tail to_frame to_numpy
to_period to_timestamp truediv tz_convert tz_localize unstack week weekday xs
fetchdf show df fetch_arrow_table
active cell coordinate dimensions iter_cols iter_rows max_column max_row min_column min_row number_format rows row
sheetnames title worksheets column column_letter
device grad item norm numel requires_grad
"""
FRAME_METHODS = frozenset(_FRAMES_TEXT.split())
NEVER_METHODS = frozenset(("query",))  # of a frame it runs a text
# Without a first argument these give a text, with one they write a file.
TO_TEXT = frozenset(("to_csv", "to_json", "to_markdown", "to_string"))
TEXT_KEYWORDS = frozenset(("header", "indent", "index", "max_colwidth", "max_rows", "orient", "sep"))
