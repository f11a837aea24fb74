"""Every error that leaves a public function of this package.

AuditError
├── EntryError                a record cannot be encoded, or bytes are no well-formed record
│   ├── BodyTooLargeError     the record would exceed 16 KiB; carries `size` and `limit` of the body
│   ├── KindError             the kind, or its use of `ref`, is not in the table given at open
│   └── ConflictError         `call_id` and kind are recorded already, with other content
├── NoteError                 a note, checkpoint, proof or verifier key is malformed
│   └── SignatureError        it is well formed, but not signed by the expected key
├── ProofError                an inclusion or consistency proof does not hold
├── KeyFileError              a key file is missing, unreadable or open to others
│   └── PassphraseError       it needs a passphrase, or not the one given
├── PrivateError              what is kept beside a record cannot be opened, or there is nothing to redact
├── SinkError                 a checkpoint could not be given to what remembers it elsewhere
├── LogError                  the log as a whole
│   ├── LogMissingError       there is no log at the path
│   ├── LogExistsError        a log, or a checkpoint of one, is there already
│   ├── LogBusyError          another writer holds the log
│   ├── LogForeignError       the database is not an audit log, or is another log than the key names
│   ├── LogDamagedError       the log contradicts itself or its checkpoints
│   │   └── LogTruncatedError the log holds less than a checkpoint proves it once held
│   │       └── LogUnprovenError  the checkpoint beside it is missing, so nothing says how much it held
│   ├── LogClosedError        the log was closed
│   ├── QueueFullError        too many records wait for the disk
│   ├── AppendTimeoutError    the record did not become durable in time (it may yet)
│   └── WriteFailedError      the disk refused: nothing of the group was acknowledged
├── ReadError                 a database cannot be read, or holds no such record
└── ExportError               the place to export to is taken or cannot be written
"""


class AuditError(Exception):
    """Base of every error of this package."""


class EntryError(AuditError):
    """A record cannot be encoded, or bytes are no well-formed record."""


class BodyTooLargeError(EntryError):
    """The record would exceed 16 KiB. `size` and `limit` are bytes of the encoded body."""

    def __init__(self, *, size: int, limit: int) -> None:
        super().__init__(f"the body takes {size} bytes and may take {limit}; cut it before it is recorded")
        self.size = size
        self.limit = limit


class KindError(EntryError):
    """The kind, or its use of `ref`, is not in the table given at open."""


class ConflictError(EntryError):
    """`call_id` and kind are recorded already with other content; `seq` is the record that holds them."""

    def __init__(self, message: str, *, seq: int) -> None:
        super().__init__(message)
        self.seq = seq


class NoteError(AuditError):
    """A note, checkpoint, proof or verifier key is malformed."""


class SignatureError(NoteError):
    """A note is well formed, but not signed by the expected key."""


class ProofError(AuditError):
    """An inclusion or consistency proof does not hold."""


class KeyFileError(AuditError):
    """A key file is missing, unreadable or open to others."""


class PassphraseError(KeyFileError):
    """A key file needs a passphrase, or not the one given."""


class PrivateError(AuditError):
    """What is kept beside a record cannot be opened, or there is nothing to redact."""


class SinkError(AuditError):
    """A checkpoint could not be given to what remembers it elsewhere, or contradicts what that remembers."""


class LogError(AuditError):
    """The log as a whole cannot be used."""


class LogMissingError(LogError):
    """There is no log at the path."""


class LogExistsError(LogError):
    """A log, or a checkpoint of one, is there already."""


class LogBusyError(LogError):
    """Another writer holds the log."""


class LogForeignError(LogError):
    """The database is not an audit log, or is another log than the key names."""


class LogDamagedError(LogError):
    """The log contradicts itself or its checkpoints."""


class LogTruncatedError(LogDamagedError):
    """The log holds less than a checkpoint proves it once held."""


class LogUnprovenError(LogTruncatedError):
    """The checkpoint beside the log is missing: nothing says how much it once held."""


class LogClosedError(LogError):
    """The log was closed."""


class QueueFullError(LogError):
    """Too many records wait for the disk."""


class AppendTimeoutError(LogError):
    """The record did not become durable in time; it may yet."""


class WriteFailedError(LogError):
    """The disk refused: nothing of the group was acknowledged."""


class ReadError(AuditError):
    """A database cannot be read, or holds no such record."""


class ExportError(AuditError):
    """The place to export to is taken or cannot be written."""
