"""Build settings that hold lists."""

StringListInfo = provider(
    doc = "The value of a string_list_flag.",
    fields = {"values": "The strings, in the order of the command line."},
)

def _string_list_flag_impl(ctx):
    return [StringListInfo(values = ctx.build_setting_value)]

string_list_flag = rule(
    doc = "A list on the command line, its words apart by commas.",
    implementation = _string_list_flag_impl,
    build_setting = config.string_list(flag = True),
)
