"""What the classifier is compared with, on the same rows in the same run: character n-grams with logistic regression,
and the detector of agent-governance-toolkit-core where it is installed."""

import warnings
from collections.abc import Callable, Iterator, Sequence

from models.training.row import Row

__all__ = ["Score", "governance", "grams"]

Score = Callable[[Sequence[Row]], list[float]]

_FEATURES = 200_000


def grams(rows: Iterator[Row]) -> Score:
    """TF-IDF over character 2- to 5-grams within words and logistic regression, fitted to `rows`."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    known = list(rows)
    vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), max_features=_FEATURES, sublinear_tf=True)
    found = vectors.fit_transform(row.text for row in known)
    fitted = LogisticRegression(C=4.0, max_iter=300).fit(found, [row.label for row in known])

    def score(asked: Sequence[Row]) -> list[float]:
        return [float(value) for value in fitted.decision_function(vectors.transform(row.text for row in asked))]

    return score


def governance() -> Score | None:
    """The detector's confidence where it says injection, else 0; None where the package is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from agent_os.prompt_injection import PromptInjectionDetector  # type: ignore[import-untyped]
        except ImportError:
            return None
        detector = PromptInjectionDetector()

    def score(asked: Sequence[Row]) -> list[float]:
        found = []
        for row in asked:
            said = detector.detect(row.text)
            found.append(float(said.confidence) if said.is_injection else 0.0)
        return found

    return score
