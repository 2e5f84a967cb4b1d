"""Packs: reusable actions and workflows in files of their own, resolved without a network.

Above: the compiler, and `packs` of the CLI. Below: captured files and the document reader.
Never: fetching anything, running anything, opening a file itself.

A pack's file is looked up relative to the file that declares it. Every pack is known under one
version in one workflow; what it exports is called NAME.THING.
Source: specification, section 1.1 (packs, packTrust), and the pack files among its examples.
"""

from __future__ import annotations

from hashlib import sha256
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, Final, Literal, Protocol, cast

from attr import define, field, frozen

from agentctl.engine.document.pack_model import PackManifest
from agentctl.engine.document.reader import read_data, read_document
from agentctl.engine.kinds import PROCESS_KINDS
from agentctl.engine.versions import Version, in_range, is_range, parse_version
from agentctl.errors import DocumentError, SourceError, SourceMissing
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentctl.engine.compiler.report import Report
    from agentctl.jsonvalue import JsonObject

LOCK_FILE: Final = "agentctl.pack.lock"
PACK_DEPTH_MAX: Final = 16
_ONLY_PATHS: Final = "packs are resolved offline here: give `source: {path: FILE}`"


class Files(Protocol):
    """Reads captured files; `peek` leaves no trace in the workflow's digest."""

    def name_of(self, path: str, base: str) -> str:
        """Return what people call a file."""
        ...

    def read(self, path: str, base: str) -> bytes:
        """Return a file's bytes. Raises SourceError."""
        ...

    def peek(self, path: str, base: str) -> bytes:
        """Return a file's bytes. Raises SourceError."""
        ...


@frozen(kw_only=True, eq=False, repr=False)
class Wanted(Value):
    """A pack as somebody asks for it; `file` and `place` say where."""

    name: str
    version: str
    source: object
    path: str | None
    integrity: str | None
    file: str
    place: str
    base: str


@frozen(kw_only=True, eq=False, repr=False)
class ResolvedPack(Value):
    """A pack that was found. `file` names it for people, `base` is its folder for files."""

    manifest: PackManifest
    file: str
    base: str
    integrity: str


class Trust(Protocol):
    """What a workflow accepts of packs that nobody signed."""

    @property
    def unsigned(self) -> Literal["allow", "warn", "deny"]:
        """What becomes of an unsigned pack."""
        ...

    @property
    def allow_unsigned_process(self) -> bool:
        """Whether an unsigned pack may start programs."""
        ...


@frozen(eq=False, repr=False)
class TrustAll(Value):
    """The trust of a manifest in itself, when it is checked alone."""

    unsigned: Literal["allow", "warn", "deny"] = "allow"
    allow_unsigned_process: bool = True


@define(eq=False, repr=False)
class PackResolver:
    """Finds packs and their dependencies; the packs stand in order of discovery."""

    files: Files
    report: Report
    trust: Trust
    version: str
    found: dict[str, ResolvedPack] = field(factory=dict)
    _lock: Mapping[str, JsonObject] | None = None

    def resolve(self, wanted: Wanted, trail: tuple[str, ...] = ()) -> None:
        """Find one pack and whatever it depends on, and report what is wrong."""
        if wanted.name in trail:
            chain = " -> ".join((*trail, wanted.name))
            self._problem(wanted, "dependency_cycle", f"the packs need each other: {chain}")
            return
        if len(trail) >= PACK_DEPTH_MAX:
            message = f"packs need each other more than {PACK_DEPTH_MAX} deep"
            self._problem(wanted, "pack_error", message)
            return
        known = self.found.get(wanted.name)
        if known is None:
            known = self._load(wanted)
        if known is None:
            return
        if not in_range(_version(known), wanted.version):
            self._problem(
                wanted,
                "pack_error",
                f"pack {wanted.name} is version {known.manifest.version}, "
                f"which is not in {wanted.version!r}",
                inside="version",
            )
        if wanted.name in self.found:
            return
        self.found[wanted.name] = known
        self._dependencies(known, (*trail, wanted.name))

    def resolve_own(self, raw: bytes, file: str) -> ResolvedPack | None:
        """Read a manifest that was given itself, and find what it depends on."""
        manifest = self._manifest(raw, file)
        if manifest is None:
            return None
        check_manifest(manifest, file, self.version, self.report)
        made = ResolvedPack(manifest=manifest, file=file, base="", integrity=integrity_of(raw))
        self.found[manifest.name] = made
        self._dependencies(made, (manifest.name,))
        return made

    def _dependencies(self, known: ResolvedPack, trail: tuple[str, ...]) -> None:
        for name, dependency in known.manifest.dependencies.items():
            self.resolve(
                Wanted(
                    name=name,
                    version=dependency.version,
                    source=dependency.source,
                    path=None,
                    integrity=None,
                    file=known.file,
                    place=f"dependencies.{name}",
                    base=known.base,
                ),
                trail,
            )

    def _load(self, wanted: Wanted) -> ResolvedPack | None:
        """Read, check and return the pack that somebody wants."""
        if not is_range(wanted.version):
            message = f"{wanted.version!r} is not a range of versions"
            self._problem(wanted, "pack_error", message, "write ^1.0 or >=1.0, <2.0", "version")
        path = wanted.path or _source_path(wanted.source)
        if path is None:
            message = f"pack {wanted.name} cannot be fetched"
            self._problem(wanted, "pack_error", message, _ONLY_PATHS, "source")
            return None
        try:
            raw = self.files.read(path, wanted.base)
        except SourceError as error:
            message = f"pack {wanted.name}: {error.message}"
            self._problem(wanted, "pack_error", message, error.help, "source")
            return None
        file = self.files.name_of(path, wanted.base)
        manifest = self._manifest(raw, file)
        if manifest is None:
            return None
        made = ResolvedPack(
            manifest=manifest,
            file=file,
            base=dirname(normpath(join(wanted.base, path))),
            integrity=integrity_of(raw),
        )
        self._check(wanted, made)
        return made

    def _manifest(self, raw: bytes, file: str) -> PackManifest | None:
        read = read_document(raw, file)
        self.report.places[file] = read.places
        self.report.extend(read.diagnostics)
        if read.document is None or isinstance(read.document, PackManifest):
            return read.document
        message = f"{file} is a workflow, not a pack"
        self.report.add("pack_error", message, file=file, path="apiVersion")
        return None

    def _check(self, wanted: Wanted, pack: ResolvedPack) -> None:
        manifest = pack.manifest
        if manifest.name != wanted.name:
            message = f"the file holds the pack {manifest.name!r}, not {wanted.name!r}"
            self._problem(wanted, "pack_error", message, inside="name")
        check_manifest(manifest, pack.file, self.version, self.report)
        if wanted.integrity is not None and wanted.integrity != pack.integrity:
            self._changed(wanted, pack, wanted.integrity, "the declared integrity", "integrity")
        locked = self._locked(wanted).get(wanted.name)
        if locked is not None and locked.get("integrity") != pack.integrity:
            self._changed(wanted, pack, str(locked.get("integrity")), LOCK_FILE, "")
        self._trusted(wanted, manifest)

    def _changed(
        self, wanted: Wanted, pack: ResolvedPack, expected: str, where: str, inside: str
    ) -> None:
        message = (
            f"pack {wanted.name} has changed: its file is {pack.integrity}, "
            f"but {where} says {expected}"
        )
        help = "look at what changed, then lock the packs again"
        self._problem(wanted, "pack_error", message, help, inside)

    def _trusted(self, wanted: Wanted, manifest: PackManifest) -> None:
        """Apply packTrust; no pack can be signed yet, so every one counts as unsigned."""
        if self.trust.unsigned == "deny":
            message = f"pack {wanted.name} is unsigned, and packTrust.unsigned is deny"
            self._problem(wanted, "pack_error", message, "review it, then allow unsigned packs")
        elif self.trust.unsigned == "warn":
            self.report.add(
                "pack_error",
                f"pack {wanted.name} is unsigned",
                file=wanted.file,
                path=wanted.place,
                severity="warning",
            )
        starts = [name for name, one in manifest.actions.items() if one.kind in PROCESS_KINDS]
        if starts and not self.trust.allow_unsigned_process:
            message = (
                f"pack {wanted.name} is unsigned and declares process execution "
                f"({', '.join(starts)})"
            )
            help = "review it, then set packTrust.allowUnsignedProcess: true"
            self._problem(wanted, "pack_error", message, help)

    def _locked(self, wanted: Wanted) -> Mapping[str, JsonObject]:
        """Return the packs of the lock file beside the workflow, by name."""
        if self._lock is None:
            try:
                self._lock = read_lock(self.files.peek(LOCK_FILE, ""))
            except SourceMissing:
                self._lock = {}
            except (SourceError, DocumentError) as error:
                self._problem(wanted, "pack_error", f"{LOCK_FILE}: {error.message}")
                self._lock = {}
        return self._lock

    def _problem(
        self,
        wanted: Wanted,
        code: Literal["pack_error", "dependency_cycle"],
        message: str,
        help: str | None = None,
        inside: str = "",
    ) -> None:
        path = f"{wanted.place}.{inside}" if inside else wanted.place
        self.report.add(code, message, file=wanted.file, path=path, help=help)


def integrity_of(raw: bytes) -> str:
    """Return what a lock file says of a pack's bytes."""
    return f"sha256:{sha256(raw).hexdigest()}"


def check_manifest(manifest: PackManifest, file: str, version: str, report: Report) -> None:
    """Check what a manifest says of itself: its version, and ours that it needs."""
    if parse_version(manifest.version) is None:
        message = f"{manifest.version!r} is not a semantic version"
        report.add("pack_error", message, file=file, path="version", help="write 1.0.0")
    for section, things in (("agents", manifest.agents), ("tools", manifest.tools)):
        if things:
            message = f"packs bring actions and workflows; {section} belong to the workflow"
            report.add("pack_error", message, file=file, path=section)
    needed = manifest.agentctl
    if needed is None:
        return
    ours = parse_version(version)
    if not is_range(needed):
        message = f"{needed!r} is not a range of versions"
        report.add("pack_error", message, file=file, path="agentctl")
    elif ours is not None and not in_range(ours, needed):
        message = f"pack {manifest.name} needs agentctl {needed}; this is {version}"
        help = "use another version of the pack, or of agentctl"
        report.add("pack_error", message, file=file, path="agentctl", help=help)


def read_lock(raw: bytes) -> dict[str, JsonObject]:
    """Return the entries of a lock file by name. Raises DocumentError, or SourceError."""
    value = read_data(raw, LOCK_FILE)
    packs = value.get("packs")
    if not isinstance(packs, list) or not all(isinstance(one, dict) for one in packs):
        raise SourceError("it has no list of `packs`")
    entries = cast("list[JsonObject]", packs)
    return {str(one.get("name")): one for one in entries}


def _source_path(source: object) -> str | None:
    """Return the file of a `source: {path: FILE}`; other kinds of source have none."""
    path = source.get("path") if isinstance(source, dict) else getattr(source, "path", None)
    return path if isinstance(path, str) else None


def _version(pack: ResolvedPack) -> Version:
    return parse_version(pack.manifest.version) or Version(0, 0, 0)
