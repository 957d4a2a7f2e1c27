# The adapter's settings, read from the environment.

DECIMAL = /\A(?:\d+\.?\d*|\.\d+)\z/

class SettingError < StandardError
end

# http_version is nil (HTTP/2 where TLS negotiates it) or "1.1".
Settings = Struct.new(
  :concurrency, :request_timeout, :user_agent, :keepalive, :check_json, :http_version, keyword_init: true
)

# Raises a SettingError, one line that names the variable; an empty variable counts as missing.
def read_settings(environment)
  one_of(environment, "METHOD", { "" => nil, "GET" => nil }, "empty or GET")
  Settings.new(
    concurrency: number(environment, "CONCURRENCY", "10", /\A\d+\z/, "a whole number from 1").to_i,
    request_timeout: number(environment, "REQUEST_TIMEOUT", "5", DECIMAL, "a number of seconds above 0"),
    user_agent: environment.fetch("USER_AGENT", ""),
    keepalive: one_of(environment, "KEEPALIVE", { "" => true, "1" => true, "0" => false }, "0 or 1"),
    check_json: one_of(environment, "CHECK", { "" => false, "json" => true }, "empty or json"),
    http_version: one_of(environment, "HTTP_VERSION", { "" => nil, "1.1" => "1.1" }, "empty or 1.1 (no other alone)")
  )
end

def number(environment, name, default, form, wanted)
  text = environment.fetch(name, "")
  text = default if text.empty?
  # Float() requires a digit before the point.
  value = form.match?(text) ? Float("0#{text.chomp('.')}") : 0.0
  raise SettingError, "#{name} must be #{wanted}, not #{text.inspect}" unless value.positive? && value.finite?

  value
end

def one_of(environment, name, values, wanted)
  text = environment.fetch(name, "")
  values.fetch(text) { raise SettingError, "#{name} must be #{wanted}, not #{text.inspect}" }
end
