"""A PostgreSQL whose log is archived as it is written, and which can be made anew from that and a base backup.

`archive_command` copies each full segment of the log, pg_receivewal writes along what comes between, and a commit waits
for it (synchronous replication): what was committed is in two places.
"""

import shutil
import subprocess
from pathlib import Path

from proofs.rig.patience import came_true
from tollkeeper.demo.servers.orphans import Watch
from tollkeeper.demo.servers.postgres import binary
from tools.services import Postgres

RECEIVER = "archive"
IS_RECEIVING = """
select count(*) from pg_stat_replication where application_name = 'archive' and state = 'streaming'
"""
IS_SYNCHRONOUS = """
select count(*) from pg_stat_replication where application_name = 'archive' and sync_state = 'sync'
"""


class ArchivedPostgres(Postgres):
    def __init__(self) -> None:
        super().__init__(durable=True)
        self._receiver: subprocess.Popen[bytes] | None = None
        self._receiver_watch: Watch | None = None
        for name in ("archive", "stream"):
            self._own_folder(name)
        self.settings |= {"archive_mode": "on", "archive_command": f"cp %p {self.folder}/archive/%f"}

    def begin_archiving(self) -> None:
        """From here on a commit waits until the archive has it."""
        address = f"{self.url}?application_name={RECEIVER}"
        command = [binary("pg_receivewal"), "--directory", str(self.folder / "stream"), "--synchronous", "-d", address]
        with (self.folder / "receiver.log").open("ab") as log:
            self._receiver = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, start_new_session=True, **self.identity()
            )
        self._receiver_watch = Watch(self._receiver, self.ending, self.folder, after=None)
        if not came_true(lambda: self.ask(IS_RECEIVING) == "1", within_seconds=60):
            raise TimeoutError("pg_receivewal does not receive")
        self.ask(f"alter system set synchronous_standby_names = '{RECEIVER}'")
        self.ask("select pg_reload_conf()")
        if not came_true(lambda: self.ask(IS_SYNCHRONOUS) == "1", within_seconds=60):
            raise TimeoutError("commits do not wait for the archive")

    def back_up(self) -> None:
        """A base backup, taken while others work."""
        self._own_folder("backup")
        command = [
            binary("pg_basebackup"),
            "-D",
            str(self.folder / "backup"),
            "-X",
            "none",
            "-c",
            "fast",
            "-d",
            self.url,
        ]
        subprocess.run(command, check=True, cwd=self.folder, capture_output=True, **self.identity())

    def lose(self) -> None:
        """The machine is gone, and its disk with it. The archive is elsewhere."""
        self.kill()
        self._end_receiver()
        shutil.rmtree(self.folder / "data")

    def restore(self, *, until: str | None = None) -> None:
        """From a copy of the base backup, and on to the last that was archived; or to a point in time, as the server
        wrote it. A server that runs is stopped, and what it had is gone."""
        self.stop()
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        command = ["cp", "--archive", str(self.folder / "backup"), str(self.folder / "data")]
        subprocess.run(command, check=True)
        for file, text in (("recovery.signal", ""), ("postgresql.auto.conf", "")):
            (self.folder / "data" / file).write_text(text)
            if self.user is not None:
                shutil.chown(self.folder / "data" / file, self.user)
        places = (f"{self.folder}/archive/%f", f"{self.folder}/stream/%f", f"{self.folder}/stream/%f.partial")
        self.settings |= {"restore_command": " || ".join(f"cp {place} %p" for place in places), "archive_mode": "off"}
        if until is not None:
            self.settings |= {"recovery_target_time": until, "recovery_target_action": "promote"}
        self.start()
        if not came_true(lambda: self.ask("select pg_is_in_recovery()") == "f", within_seconds=120):
            raise TimeoutError("the restored database does not leave recovery")

    def ask(self, sql: str) -> str:
        """The one answer; nothing where nobody answers."""
        command = [binary("psql"), "-qtAX", "-c", sql, "-d", self.url]
        return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()

    def __exit__(self, *_: object) -> None:
        self._end_receiver()
        super().__exit__()

    def _end_receiver(self) -> None:
        if self._receiver is not None:
            self._receiver.kill()
            self._receiver.wait()
            self._receiver = None
        if self._receiver_watch is not None:
            self._receiver_watch.hand_over()
            self._receiver_watch = None

    def _own_folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        if self.user is not None:
            shutil.chown(folder, self.user)
        return folder
