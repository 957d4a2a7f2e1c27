// Serves with ASP.NET Core's Kestrel, as its generic host sets it up.
using System;
using System.IO;
using System.Reflection;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

internal static class Program
{
    // How long requests in flight are waited for at SIGTERM.
    private static readonly TimeSpan Farewell = TimeSpan.FromMilliseconds(200);

    private static async Task<int> Main(string[] arguments)
    {
        if (arguments.Length == 1 && arguments[0] == "--version")
        {
            var kestrel = typeof(WebHostBuilderKestrelExtensions).Assembly;
            // What follows a plus sign is the commit that it was built from.
            Console.WriteLine(
                kestrel.GetCustomAttribute<AssemblyInformationalVersionAttribute>()!.InformationalVersion.Split('+')[0]);
            return 0;
        }
        try
        {
            var settings = new Settings();
            using var host = Build(settings, new Endpoints(settings, File.ReadAllBytes("document.json")));
            await host.StartAsync();
            await host.WaitForShutdownAsync();
            return 0;
        }
        catch (SettingException error)
        {
            Console.Error.WriteLine($"dotnet-kestrel: {error.Message}");
            return 127;
        }
        catch (OperationCanceledException)
        {
            // What was still in flight has been given up.
            return 0;
        }
        catch (IOException error)
        {
            Console.Error.WriteLine($"dotnet-kestrel: {error.Message}");
            return 1;
        }
    }

    // A request for a whole URL is refused when its Host field differs, as that of some generators does: they leave the
    // port out. HTTP has it ignored, and so has Kestrel since .NET 8, when told; what is compiled against is older.
    private static void IgnoreHostBesideWholeUrl(KestrelServerOptions kestrel) =>
        typeof(KestrelServerOptions).GetProperty("AllowHostHeaderOverride")?.SetValue(kestrel, true);

    private static IHost Build(Settings settings, Endpoints endpoints) =>
        new HostBuilder()
            .ConfigureWebHost(web => web
                .UseKestrel(kestrel =>
                {
                    kestrel.Listen(settings.Host, settings.Port);
                    IgnoreHostBesideWholeUrl(kestrel);
                })
                .ConfigureServices(services => services.AddRouting())
                .Configure(application => application
                    .UseRouting()
                    .UseEndpoints(routes =>
                    {
                        routes.MapGet("/plain", endpoints.Plain);
                        routes.MapGet("/json", endpoints.Document);
                        routes.MapMethods("/", new[] { "GET", "POST" }, endpoints.Workloads);
                    })))
            .ConfigureServices(services => services.Configure<HostOptions>(host => host.ShutdownTimeout = Farewell))
            // No lines about requests; what keeps it from starting is an exception.
            .ConfigureLogging(logging => logging.ClearProviders())
            .UseConsoleLifetime(console => console.SuppressStatusMessages = true)
            .Build();
}
