import type { RecordKind } from '#domain/record-values.ts'
import type { EventName } from '#events/catalogue.ts'
import type { Channel, Origin } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'

/** Channel that created a record; the service itself registers only sales, those of orders. */
export const CHANNELS: Readonly<Record<Channel, string>> = { api: 'API', pdv: 'Ponto de venda', system: 'Loja online' }

/** Origin of an event. */
export const ORIGINS: Readonly<Record<Origin, string>> = { ...CHANNELS, system: 'Sistema', panel: 'Painel' }

/** Texts of events in terms of a shop. */
export const EVENTS: Readonly<Record<EventName, string>> = {
  CompanyRegistered: 'Empresa registrada',
  CompanyUpdated: 'Dados da empresa alterados',
  CompanyClockCorrected: 'Relógio corrigido',
  InstallationRestored: 'Dados restaurados de um backup',
  TestTwinMade: 'Empresa de teste criada',
  TestClockMoved: 'Data da empresa de teste avançada',
  TestDataErased: 'Dados da empresa de teste apagados',
  RoleAdjusted: 'Perfil de acesso alterado',
  PaymentTypeCreated: 'Forma de pagamento criada',
  PaymentTypeUpdated: 'Forma de pagamento alterada',
  UserCreated: 'Usuário criado',
  UserInvited: 'Usuário convidado',
  UserInvitationRenewed: 'Convite enviado de novo',
  UserInvitationCancelled: 'Convite cancelado',
  UserJoined: 'Convite aceito',
  UserUpdated: 'Usuário alterado',
  UserDeactivated: 'Usuário desativado',
  UserReactivated: 'Usuário reativado',
  UserPinChanged: 'PIN do usuário alterado',
  UserPasswordChanged: 'Senha do usuário alterada',
  UserPasswordLinkCreated: 'Link para nova senha criado',
  UserSecondFactorAdded: 'Verificação em duas etapas ativada',
  UserSecondFactorRemoved: 'Verificação em duas etapas removida',
  UserRecoveryCodesRenewed: 'Códigos de recuperação renovados',
  ApiKeyCreated: 'Chave de API criada',
  ApiKeyRevoked: 'Chave de API revogada',
  CustomerCreated: 'Cliente criado',
  CustomerUpdated: 'Cliente alterado',
  CustomerDeleted: 'Cliente excluído',
  CustomerRevived: 'Cliente restaurado',
  SupplierCreated: 'Fornecedor criado',
  SupplierUpdated: 'Fornecedor alterado',
  SupplierDeleted: 'Fornecedor excluído',
  SupplierRevived: 'Fornecedor restaurado',
  CatalogItemCreated: 'Item criado',
  CatalogItemUpdated: 'Item alterado',
  CatalogItemDeactivated: 'Item desativado',
  CatalogItemRevived: 'Item restaurado',
  StockAdjusted: 'Estoque ajustado',
  StockMovementRecorded: 'Movimento de estoque registrado',
  InventoryOpened: 'Inventário aberto',
  InventoryCounted: 'Produtos contados no inventário',
  InventoryClosed: 'Inventário encerrado',
  InventoryApplied: 'Estoques corrigidos pelo inventário',
  CategoryCreated: 'Categoria criada',
  CategoryUpdated: 'Categoria alterada',
  CategoryDeleted: 'Categoria excluída',
  CategoryRevived: 'Categoria restaurada',
  SaleCompleted: 'Venda concluída',
  SaleRefunded: 'Estorno parcial da venda',
  SaleRestocked: 'Mercadoria do pedido devolvida',
  OfflineSaleCompleted: 'Venda do caixa recebida',
  OfflineSaleCancelled: 'Venda cancelada no caixa recebida',
  SaleCancelled: 'Venda cancelada',
  SaleCancellationMoved: 'Gaveta do cancelamento conhecida',
  SaleReturned: 'Mercadoria devolvida',
  ReturnAwaited: 'Devolução do caixa aguardando a venda',
  ReturnRefused: 'Devolução do caixa recusada',
  RefusedReturnResolved: 'Devolução recusada resolvida',
  ReturnReversed: 'Devolução desfeita',
  ReturnDocumentRecorded: 'Documento fiscal da devolução registrado',
  SaleCustomerAssigned: 'Cliente da venda informado',
  FiscalDocumentRecorded: 'Documento fiscal registrado',
  CashSessionOpened: 'Caixa aberto',
  CashMoved: 'Dinheiro movimentado no caixa',
  CashSessionClosed: 'Caixa fechado',
  CashMovementRefused: 'Movimento do caixa recusado',
  RefusedCashMovementResolved: 'Movimento recusado resolvido',
  TillRegistered: 'Caixa aberto em um aparelho',
  TillElementReceived: 'Registro de um caixa recebido',
  TillGapDetected: 'Registros de um caixa faltando',
  TillElementsGivenUp: 'Registros de um caixa dados por perdidos',
  TillEnded: 'Caixa encerrado',
  ReceivableCreated: 'Conta a receber criada',
  ReceivableUpdated: 'Conta a receber alterada',
  ReceivableDeleted: 'Conta a receber excluída',
  ReceivableRevived: 'Conta a receber restaurada',
  ReceivablePaymentReceived: 'Recebimento',
  ReceivablePaymentReversed: 'Recebimento estornado',
  ReceivableSettled: 'Conta a receber quitada',
  PayableCreated: 'Conta a pagar criada',
  PayableUpdated: 'Conta a pagar alterada',
  PayableDeleted: 'Conta a pagar excluída',
  PayableRevived: 'Conta a pagar restaurada',
  PayablePaymentMade: 'Pagamento de conta',
  PayablePaymentReversed: 'Pagamento de conta estornado',
  PayableSettled: 'Conta a pagar quitada',
  WebhookRegistered: 'Webhook cadastrado',
  WebhookUpdated: 'Webhook alterado',
  WebhookHandedOver: 'Webhook transferido',
  WebhookEnabled: 'Webhook ligado',
  WebhookSwitchedOff: 'Webhook desligado',
  WebhookSecretRotated: 'Segredo do webhook trocado',
  WebhookDeleted: 'Webhook excluído',
  StoreCreated: 'Loja criada',
  StoreUpdated: 'Loja alterada',
  StoreSecretsReplaced: 'Credenciais da loja trocadas',
  StoreConnected: 'Loja conectada ao provedor',
  StoreConnectionRenewed: 'Conexão da loja renovada',
  StoreConnectionRefused: 'Renovação da conexão da loja recusada pelo provedor',
  StoreEnabled: 'Loja ligada',
  StoreDisabled: 'Loja desligada',
  OrderPlaced: 'Pedido criado',
  PaymentStarted: 'Pagamento iniciado',
  PaymentRefused: 'Pagamento recusado pelo provedor',
  PaymentRecorded: 'Situação do pagamento registrada',
  OrderAlarmRaised: 'Alerta do pedido',
  OrderAlarmAcknowledged: 'Alerta do pedido lido',
  OrderPaid: 'Pedido pago',
  OrderDelivered: 'Pedido entregue',
  OrderDeliveryUndone: 'Entrega do pedido desfeita',
  OrderFailed: 'Pagamento do pedido falhou',
  OrderPending: 'Pedido voltou a aguardar pagamento',
  OrderCancelled: 'Pagamento do pedido cancelado',
  OrderExpired: 'Pedido expirado',
  OrderCancelledByStore: 'Pedido cancelado pela loja',
  OrderRefunded: 'Pedido estornado',
  OrderPartiallyRefunded: 'Estorno parcial do pedido',
  OrderRefundRequested: 'Estorno solicitado',
  OrderRefundPrepared: 'Estorno conferido no provedor',
  OrderRefundAccepted: 'Estorno em processamento no provedor',
  OrderRefundRefused: 'Estorno recusado pelo provedor',
  OrderRefundCompleted: 'Estorno feito',
  CommissionSplit: 'Comissão dividida',
  CommissionReversed: 'Comissão estornada',
  PersonForgotten: 'Dados pessoais excluídos (LGPD)',
  PersonForgettingQueued: 'Exclusão de dados pessoais marcada',
}

/** Text of a stored event; a newer version may have written an unknown type. */
export const eventName = (type: string): string => (Object.hasOwn(EVENTS, type) ? EVENTS[type as EventName] : type)

/** Names of record kinds. */
export const KINDS: Readonly<Record<RecordKind, string>> = {
  company: 'Empresa',
  user: 'Usuário',
  api_key: 'Chave de API',
  payment_type: 'Forma de pagamento',
  customer: 'Cliente',
  supplier: 'Fornecedor',
  category: 'Categoria',
  catalog_item: 'Item do catálogo',
  stock_movement: 'Movimento de estoque',
  inventory: 'Inventário',
  sale: 'Venda',
  return: 'Devolução',
  receivable: 'Conta a receber',
  payable: 'Conta a pagar',
  webhook: 'Webhook',
  store: 'Loja',
  order: 'Pedido',
  cash_session: 'Sessão de caixa',
  till: 'Caixa',
}

/** Kinds with their own page, which supports the past too; the audit shows all others. */
const PAGES: Partial<Record<RecordKind, string>> = {
  customer: '/clientes',
  supplier: '/fornecedores',
  catalog_item: '/catalogo',
  inventory: '/catalogo/inventarios',
  sale: '/vendas',
  return: '/devolucoes',
  receivable: '/contas-a-receber',
  payable: '/contas-a-pagar',
  order: '/loja/pedidos',
  cash_session: '/caixas/sessoes',
}

/** Display name of a subject: `sale/9` becomes `Venda 9`. */
export function subjectName(subject: string): string {
  const { type, id } = parseSubject(subject)
  return `${Object.hasOwn(KINDS, type) ? KINDS[type as RecordKind] : type} ${id}`
}

/** Page of a subject, below the panel. */
export function subjectPath(subject: string): string {
  const { type, id } = parseSubject(subject)
  const page = Object.hasOwn(PAGES, type) ? PAGES[type as RecordKind] : undefined
  return page ? `${page}/${id}` : `/auditoria/registros/${type}/${id}`
}

/** Numbers in words: `119`, `3 a 7, 9`. */
export const rangesText = (ranges: readonly (readonly [number, number])[]): string =>
  ranges.map(([from, to]) => (from === to ? `${from}` : `${from} ${to === from + 1 ? 'e' : 'a'} ${to}`)).join(', ')
