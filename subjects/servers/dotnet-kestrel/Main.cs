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
    // How long the server waits for requests in flight at SIGTERM.
    private static readonly TimeSpan Farewell = TimeSpan.FromMilliseconds(200);

    private static async Task<int> Main(string[] arguments)
    {
        if (arguments.Length == 1 && arguments[0] == "--version")
        {
            var kestrel = typeof(WebHostBuilderKestrelExtensions).Assembly;
            // The text after a plus sign is the commit of the build.
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
            // Requests still in flight were abandoned.
            return 0;
        }
        catch (IOException error)
        {
            Console.Error.WriteLine($"dotnet-kestrel: {error.Message}");
            return 1;
        }
    }

    // A request for a whole URL is refused if its Host field differs, as that of some generators does, which leave the
    // port out. HTTP requires that the field is ignored. Kestrel has a setting for that since .NET 8; this build uses
    // an older one.
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
            // No lines about requests; an error at the start is an exception.
            .ConfigureLogging(logging => logging.ClearProviders())
            .UseConsoleLifetime(console => console.SuppressStatusMessages = true)
            .Build();
}
