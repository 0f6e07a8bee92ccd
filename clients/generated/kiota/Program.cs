using System.Net.Http.Headers;
using System.Text.Json;
using Microsoft.Kiota.Abstractions;
using Microsoft.Kiota.Abstractions.Authentication;
using Microsoft.Kiota.Http.HttpClientLibrary;
using Tillbook;
using Tillbook.Models;

// The calls of ../csharp/Program.cs with the client that Kiota generates: prints what the test expects.
var address = Environment.GetEnvironmentVariable("BASE") + "/api/v1";
TillbookClient ClientWith(HttpClient http) =>
    new(new HttpClientRequestAdapter(new AnonymousAuthenticationProvider(), httpClient: http) { BaseUrl = address });
var http = new HttpClient();
http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", Environment.GetEnvironmentVariable("KEY"));
var tillbook = ClientWith(http);

var customer = (await tillbook.Customers.PostAsync(new CustomerInput { Name = "Maria da Silva" }))!.Data!;
var item = (await tillbook.Catalog.Items.PostAsync(new CatalogItemInput
{
    Name = "Café torrado 500 g",
    Price = "18.90",
    Stock = "10",
    Gtin = "SEM GTIN",
}))!.Data!;
var cash = (await tillbook.Sales.PaymentTypes.GetAsync())!.Data!.First(type => type.IsCash == true);
var order = new SaleInput
{
    ExternalId = "PEDIDO-1",
    CustomerId = customer.Id,
    Items = [new SaleItemInput { CatalogItemId = item.Id, Quantity = "2" }],
    Payments = [new SalePaymentInput { PaymentTypeId = cash.Id, Amount = "40.00" }],
};
void KeyOf(RequestHeaders headers, string key) => headers.Add("Idempotency-Key", key);
var sale = (await tillbook.Sales.PostAsync(order, call => KeyOf(call.Headers, "PEDIDO-1")))!.Data!;
var replayed = (await tillbook.Sales.PostAsync(order, call => KeyOf(call.Headers, "PEDIDO-1")))!.Data!;
var cancelled = (await tillbook.Sales[sale.Id!.Value].Cancel.PostAsync(
    new SaleCancellationInput { Reason = "Cliente desistiu" }))!.Data!;

var names = new List<string?>();
string? cursor = null;
do
{
    var page = (await tillbook.Customers.GetAsync(call =>
    {
        call.QueryParameters.Limit = 2;
        call.QueryParameters.Cursor = cursor;
    }))!;
    names.AddRange(page.Data!.Select(one => one.Name));
    cursor = page.Meta!.NextCursor;
} while (cursor != null);

var receivable = (await tillbook.Finance.Receivables.PostAsync(new ReceivableInput
{
    Description = "Pedido 1",
    Amount = "37.80",
    DueDate = new Date(2030, 1, 10),
}))!.Data!;
var settled = (await tillbook.Finance.Receivables[receivable.Id!.Value].Settle.PostAsync(
    new Settlement { PaymentMethod = "pix" }, call => KeyOf(call.Headers, "NF-1")))!.Data!;
var webhook = (await tillbook.Webhooks.PostAsync(new RegisterWebhookInput
{
    Url = "https://tillbook.example/hook",
    Events = [WebhookSubscription.SaleCompleted],
}))!.Data!;

// Null is not sent; an empty text clears a field.
await tillbook.Customers[customer.Id!.Value].PatchAsync(new CustomerChanges { Notes = "VIP" });
var cleared = (await tillbook.Customers[customer.Id!.Value].PatchAsync(new CustomerChanges { Notes = "" }))!.Data!;

async Task<string> RefusalOf(Func<Task> call)
{
    try
    {
        await call();
        return "none";
    }
    catch (Error refusal)
    {
        var told = refusal.ErrorProp!;
        var details = told.Details;
        var field = details?.Fields?.AdditionalData.Keys.First();
        return $"{refusal.ResponseStatusCode} {told.Code} {details?.Field}{details?.Requested}{field}";
    }
}
var keyless = ClientWith(new HttpClient());
var refusals = new[]
{
    await RefusalOf(() => keyless.Me.GetAsync()),
    await RefusalOf(() => tillbook.Customers[999_999_999].GetAsync()),
    await RefusalOf(() => tillbook.Customers.PostAsync(new CustomerInput { Name = "Ana" })),
    await RefusalOf(() => tillbook.Customers.PostAsync(new CustomerInput { Name = "" })),
    await RefusalOf(() => tillbook.Sales.PostAsync(new SaleInput
    {
        Items = [new SaleItemInput { CatalogItemId = item.Id, Quantity = "50" }],
        Payments = [new SalePaymentInput { PaymentTypeId = cash.Id, Amount = "945.00" }],
    })),
};
var batch = (await tillbook.Customers.Batch.PostAsync(new BatchCustomersInput
{
    Items = [new CustomerBatchItem { ExternalId = "A", Name = "Eva" }, new CustomerBatchItem { ExternalId = "B", Name = "Ana" }],
}))!;
var failed = batch.Meta!.Errors!.Select(one => $"{one.Index} {one.ExternalId} {one.Code} {one.Details!.Field}");

// Every list with a parameter of time.
var since = DateTimeOffset.Now.AddDays(-1);
var moments = new Dictionary<string, Func<Task>>
{
    ["listCatalogItems"] = () => tillbook.Catalog.Items.GetAsync(call =>
    {
        call.QueryParameters.UpdatedSince = since;
        call.QueryParameters.StockUpdatedSince = since;
    }),
    ["listDeletedCatalogItems"] = () => tillbook.Catalog.Items.Deleted.GetAsync(call => call.QueryParameters.Since = since),
    ["listCatalogItemVariants"] = () => tillbook.Catalog.Items[item.Id!.Value].Variants.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listCategories"] = () => tillbook.Catalog.Categories.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listDeletedCategories"] = () => tillbook.Catalog.Categories.Deleted.GetAsync(call => call.QueryParameters.Since = since),
    ["listCatalogItemMovements"] = () => tillbook.Catalog.Items[item.Id!.Value].Movements.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listStockMovements"] = () => tillbook.Stock.Movements.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listLowStock"] = () => tillbook.Stock.Low.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listInventories"] = () => tillbook.Stock.Inventories.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listCustomers"] = () => tillbook.Customers.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listDeletedCustomers"] = () => tillbook.Customers.Deleted.GetAsync(call => call.QueryParameters.Since = since),
    ["listSuppliers"] = () => tillbook.Suppliers.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listDeletedSuppliers"] = () => tillbook.Suppliers.Deleted.GetAsync(call => call.QueryParameters.Since = since),
    ["listReceivables"] = () => tillbook.Finance.Receivables.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listDeletedReceivables"] = () => tillbook.Finance.Receivables.Deleted.GetAsync(call => call.QueryParameters.Since = since),
    ["listPayables"] = () => tillbook.Finance.Payables.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listDeletedPayables"] = () => tillbook.Finance.Payables.Deleted.GetAsync(call => call.QueryParameters.Since = since),
    ["listSales"] = () => tillbook.Sales.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listCashSessions"] = () => tillbook.CashSessions.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listReturnsOfSale"] = () => tillbook.Sales[sale.Id!.Value].Returns.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listReturns"] = () => tillbook.Returns.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listOrders"] = () => tillbook.Orders.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listWebhooks"] = () => tillbook.Webhooks.GetAsync(call => call.QueryParameters.UpdatedSince = since),
    ["listRequests"] = () => tillbook.Requests.GetAsync(call =>
    {
        call.QueryParameters.Since = since;
        call.QueryParameters.Until = since;
    }),
};
foreach (var call in moments.Values) await call();

Console.WriteLine(JsonSerializer.Serialize(new
{
    customer = new { name = customer.Name, email = customer.Email },
    item = new { gtin = item.Gtin, stock = item.Stock },
    sale = new { total = sale.Total, change = sale.Change, is_same = sale.Id == replayed.Id },
    cancelled = new { status = $"{cancelled.Status}", reason = cancelled.CancelReason },
    names,
    settled = new { status = $"{settled.Status}", method = settled.PaymentMethod },
    webhook = new { url = webhook.Url, secret = webhook.Secret![..6] },
    cleared = cleared.Notes,
    refusals,
    failed,
    moments = moments.Keys.Order(),
}));
