-- What is kept of a file is what was read of it, compressed and sealed, and no longer its text: files of the hour are uploaded again.
delete from ops.imports;
