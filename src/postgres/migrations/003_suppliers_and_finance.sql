-- Ids are taken in blocks; see src/ledger/ids.ts.
create sequence ops.supplier_ids;
create sequence ops.receivable_ids;
create sequence ops.payable_ids;
